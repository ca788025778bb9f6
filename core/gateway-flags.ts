/**
 * V8 flags of a gateway, on a laptop and in a pod. The gateway runs beside other programs, so memory matters more than
 * the last per cent of speed: a young generation of some hundred requests, of which hardly anything survives, and an
 * old generation that is collected after growing by a third.
 *
 * Without the last flag V8 may decide, from the first few hundred requests, that some objects of a request are
 * long-lived, and pretenure them for the lifetime of the process: four to twenty times as many full collections and a
 * quarter of all CPU, in a random subset of processes.
 */
export const GATEWAY_FLAGS: readonly string[] = [
  '--min-semi-space-size=2',
  '--max-semi-space-size=2',
  '--heap-growing-percent=30',
  '--no-allocation-site-pretenuring',
]

/**
 * Settings of the C library (glibc; other libraries ignore them). One arena, because each further arena holds memory
 * that is never returned. Free blocks of 32 KiB and more are returned to the system: V8's compilers use blocks of that
 * size, up to 16 MiB while a gateway warms up, and would leave the heap fragmented.
 */
export const GATEWAY_MALLOC = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '131072',
} as const
