/**
 * Shifts the wall clock of this process: `Date` returns times that are `shiftMs()` milliseconds later. `performance.now()` and
 * the certificate checks of OpenSSL keep the right time.
 */
export function shiftDate(shiftMs: () => number): void {
  const RightDate = Date
  const now = () => RightDate.now() + shiftMs()
  globalThis.Date = new Proxy(RightDate, {
    construct: (target, given, newTarget) =>
      Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as object,
    apply: () => new RightDate(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  })
}
