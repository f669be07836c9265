#include <stdlib.h>

#define SIZE 64

struct ring {
    int items[SIZE];
    unsigned head, tail;   /* head is where the next item goes, tail where the oldest one lies; both only ever grow */
    void (*on_full)(struct ring *, int);    /* called with the item that found no room; may be NULL, then it is dropped */
};

/* Put an item in.
   Returns false if there is no room,
struct like_this { is still a comment }
*/
static bool
ring_put(struct ring *ring, int item)
{
    if (ring->head - ring->tail == SIZE) {
#ifdef TELL
        ring->on_full(ring, item);
#endif
        return false;
    }
    ring->items[ring->head++ % SIZE] = item;
    return true;
}

int ring_take(struct ring *ring,
              int *item)
{
    if (ring->head == ring->tail)
        return -1;                      /* there is nothing in it, and the caller has to come back a little later */
    *item = ring->items[ring->tail++ % SIZE];
    return 0;                           /* the item is the caller's now; the place that it had is free for another */
}
