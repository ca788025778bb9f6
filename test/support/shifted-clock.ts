/**
 * Preloaded (`--import`) into a process whose wall clock shall be wrong by CLOCK_SHIFT_MS: everything that asks
 * JavaScript for the time of day gets the wrong one. Durations (`performance.now()`, timers) stay right, as they do
 * on a machine whose clock is set wrong.
 */
const shiftMs = Number(process.env['CLOCK_SHIFT_MS'])
if (!Number.isFinite(shiftMs) || shiftMs === 0) throw new Error('CLOCK_SHIFT_MS is not set')

const RightDate = Date
const now = () => RightDate.now() + shiftMs

globalThis.Date = new Proxy(RightDate, {
  construct: (target, given, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as object,
  apply: () => new RightDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
