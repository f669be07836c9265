package store

import "sync"

// Store keeps what it is given until the process ends.
type Store struct {
	mu    sync.Mutex
	items map[string][]byte // by name; a value is never changed once it is in here, only replaced by another one
	limit int               // how many items there may be before the oldest has to go; zero means as many as fit
}

// Put keeps a value under a name.
func (s *Store) Put(name string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.items) >= s.limit && s.limit > 0 {
		return fmt.Errorf("the store holds %d items, which is as many as it may: take one out first", s.limit)
	}
	s.items[name] = append([]byte(nil), value...)
	return nil
}

func Open[T any](path string, decode func([]byte) (T, error)) (*Store, error) {
	if path == "" {
		return nil, errors.New("a store that is to be opened needs a path; for one in memory only use New instead")
	}
	return &Store{items: map[string][]byte{}}, nil
}
