package org.example.library;

import java.util.Map;

/**
 * Lends books.
 * Every class knows its shelf.
 */
@Service
public final class Library implements Lender<Book>, AutoCloseable {

    private final Map<String, Shelf> shelves;

    public Library(Map<String, Shelf> shelves) {
        this.shelves = Map.copyOf(shelves);
        if (shelves.isEmpty()) {
            throw new IllegalArgumentException("A library without shelves lends nothing. Give it at least one shelf.");
        }
    }

    /** Lends a book to a reader. */
    @Override
    @Transactional(
        readOnly = false
    )
    public <R extends Reader> Loan lend(Book book, R reader)
            throws NotOnShelf, TooManyLoans
    {
        var shelf = shelves.get(book.shelf());
        synchronized (shelf) {
            shelf.take(book);
        }
        return new Loan(book, reader, LocalDate.now().plusWeeks(reader.isStudent() ? 8 : 4));
    }

    private static final class Shelf {
        private final Set<Book> books = new HashSet<>();

        void take(Book book) throws NotOnShelf {
            if (!books.remove(book)) {
                throw new NotOnShelf("The book is lent, or somebody put it back on the wrong shelf: " + book.title()
                    + ". Ask at the desk, where they keep a list of what is missing and who had it last.");
            }
        }
    }
}
