/**
 * How V8 keeps house in a gateway, on a laptop as in a pod. It stands beside other programs, so its memory counts more than
 * the last per cent of speed: a young space of a few hundred requests, of which hardly anything outlives its turn, and an
 * old one that is cleaned when it has grown by a third.
 *
 * Without the last flag V8 may decide, from the first few hundred requests, that some of what a request makes lives long,
 * and puts that into the old space for as long as the process lives: four to twenty times as many full collections, a
 * quarter of all CPU, and which process it happens to is chance.
 */
export const GATEWAY_FLAGS: readonly string[] = [
  '--min-semi-space-size=4',
  '--max-semi-space-size=4',
  '--heap-growing-percent=30',
  '--no-allocation-site-pretenuring',
]
