import { shiftDate } from '../../support/shift-date.ts'
import { SHIFTS_VARIABLE, SIDECAR_SHIFTS_MS } from './shifts.ts'

/**
 * Module that a program loads first. Its wall clock is off by the first shift of `SHIFTS_VARIABLE`, in milliseconds, and each
 * SIGUSR2 moves the clock to the next one. Intervals of a minute and longer then fire, as if the time between had passed. The
 * environment of a sidecar is that of the injector, so a process without the variable has the shifts of a sidecar.
 */
const shifts = (process.env[SHIFTS_VARIABLE] ?? SIDECAR_SHIFTS_MS).split(':').map(Number)
let shiftMs = shifts.shift() ?? 0
if (![shiftMs, ...shifts].every(Number.isFinite))
  throw new Error(`${SHIFTS_VARIABLE} is not a list of numbers`)
shiftDate(() => shiftMs)

const LONG_MS = 60_000
const long = new Map<unknown, () => void>()

globalThis.setInterval = new Proxy(setInterval, {
  apply(target, self, given: [callback: (...values: unknown[]) => void, everyMs?: number, ...unknown[]]) {
    const [callback, everyMs = 0, ...values] = given
    const timer: unknown = Reflect.apply(target, self, given)
    if (everyMs >= LONG_MS) long.set(timer, () => callback(...values))
    return timer
  },
})
globalThis.clearInterval = new Proxy(clearInterval, {
  apply(target, self, given: [timer?: unknown]) {
    long.delete(given[0])
    Reflect.apply(target, self, given)
  },
})

process.on('SIGUSR2', () => {
  shiftMs = shifts.shift() ?? shiftMs
  for (const fire of [...long.values()]) fire()
})
