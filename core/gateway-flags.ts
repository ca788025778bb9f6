/**
 * V8 flags of a gateway, on a laptop and in a pod, where memory matters more than the last per cent of speed. Resident memory
 * after 12,400 requests of B1, seven gateways in turns, three times: 148 to 167 MiB with neither flags nor the setting below, 119
 * or 120 MiB with them.
 *
 * - A young generation of 2 MiB holds some hundred requests, of which hardly anything survives: 7 to 19 MiB less.
 * - Without `--no-allocation-site-pretenuring` V8 may decide, from the first few hundred requests, that some objects of a
 *   request are long-lived, and pretenure them for the lifetime of the process: 7 to 57 full collections in 55,000 requests
 *   instead of 2 or 3, and a quarter of all CPU time, in a random subset of processes.
 */
export const GATEWAY_FLAGS: readonly string[] = [
  '--min-semi-space-size=2',
  '--max-semi-space-size=2',
  '--no-allocation-site-pretenuring',
]

/**
 * Setting of the C library (glibc; other libraries ignore it). Free blocks of 32 KiB and more are returned to the system: V8's
 * compilers use blocks of that size while a gateway warms up, and would leave the heap fragmented: 8 to 24 MiB less.
 */
export const GATEWAY_MALLOC = { MALLOC_MMAP_THRESHOLD_: '32768' } as const
