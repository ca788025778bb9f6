/**
 * Module to preload (`--import`) into a process, whose wall clock it shifts by CLOCK_SHIFT_MS. `Date` returns shifted times.
 * `performance.now()` and timers stay correct, as on a machine with a wrong clock.
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
