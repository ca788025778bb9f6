/**
 * V8 flags of a gateway. On a laptop and in a pod, memory matters more than the last per cent of speed. In the
 * benchmark B1 (`test/bench`), the resident memory after 12,400 requests is 148 to 167 MiB without these flags and
 * `GATEWAY_MALLOC`, and 119 to 120 MiB with them.
 *
 * - A young generation of 2 MiB is large enough for the objects of some hundred requests. Few of these objects survive.
 *   The small size saves 7 to 19 MiB.
 * - `--no-allocation-site-pretenuring` keeps V8 from treating objects of the first few hundred requests as long-lived,
 *   and from then allocating such objects in the old generation for the lifetime of the process. Without the flag, V8
 *   does this in some processes; these need 7 to 57 full collections in 55,000 requests instead of 2 or 3, a quarter of
 *   all CPU time.
 * - `--heap-growing-percent` collects the old generation after it has grown by a third. It saves little under load. In
 *   an idle sidecar it saves memory together with `GATEWAY_MALLOC` and the small thread pool (`test/cluster/figures`).
 * - `--no-maglev` disables the compiler between Sparkplug and TurboFan. Code of this compiler is soon replaced, but
 *   stays in memory with the data of its compilation. The flag saves 10 MiB under load, and a tenth of the CPU time per
 *   request in the first 100,000 requests.
 * - `--expose-gc` lets an idle gateway collect its garbage (`sidecar/process/idle-collection.ts`).
 */
export const GATEWAY_FLAGS: readonly string[] = [
  '--min-semi-space-size=2',
  '--max-semi-space-size=2',
  '--no-allocation-site-pretenuring',
  '--heap-growing-percent=30',
  '--no-maglev',
  '--expose-gc',
]

/**
 * Environment variables of glibc (other C libraries ignore them). With these thresholds, free() returns blocks of 32
 * KiB and more to the system, which saves 8 to 24 MiB: V8's compilers allocate blocks of that size while a gateway
 * warms up, and would leave the heap fragmented. The number of arenas is one, because each further arena holds memory
 * that is never returned.
 */
export const GATEWAY_MALLOC = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '131072',
} as const
