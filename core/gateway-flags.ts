/**
 * How V8 keeps house in a gateway, on a laptop as in a pod. It stands beside other programs, so its memory counts more than
 * the last per cent of speed: a young space of some hundred requests, of which hardly anything outlives its turn, and an
 * old one that is cleaned when it has grown by a third.
 *
 * Without the last flag V8 may decide, from the first few hundred requests, that some of what a request makes lives long,
 * and puts that into the old space for as long as the process lives: four to twenty times as many full collections, a
 * quarter of all CPU, and which process it happens to is chance.
 */
export const GATEWAY_FLAGS: readonly string[] = [
  '--min-semi-space-size=2',
  '--max-semi-space-size=2',
  '--heap-growing-percent=30',
  '--no-allocation-site-pretenuring',
]

/**
 * The same for the C library (glibc; others do not read these). One arena, because a second one for each thread holds memory
 * that is never given back. Blocks of 32 KiB and more go back to the system when they are free: V8's compilers work in
 * blocks of that size, up to 16 MiB of them while a gateway warms up, and left the heap full of holes.
 */
export const GATEWAY_MALLOC = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '131072',
} as const
