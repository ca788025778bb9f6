import { shiftDate } from './shift-date.ts'

/**
 * Module to preload (`--import`) into a process, whose wall clock it shifts by CLOCK_SHIFT_MS. Timers stay correct, as on a
 * machine with a wrong clock.
 */
const shiftMs = Number(process.env['CLOCK_SHIFT_MS'])
if (!Number.isFinite(shiftMs) || shiftMs === 0) throw new Error('CLOCK_SHIFT_MS is not set')
shiftDate(() => shiftMs)
