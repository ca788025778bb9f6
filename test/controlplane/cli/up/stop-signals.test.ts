import { expect, test } from 'vitest'
import { stopSignals } from '../../../../controlplane/cli/up/stop-signals.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const counts = () => SIGNALS.map((signal) => process.listenerCount(signal))

test('signals request a stop until dispose, which removes the listeners', async () => {
  const before = counts()
  for (let n = 0; n < 20; n++) {
    using stop = stopSignals()
    expect(counts()).toEqual(before.map((count) => count + 1))
    expect(stop.starting.aborted).toBe(false)
    process.emit(SIGNALS[n % 3] ?? 'SIGINT')
    await stop.requested
    expect(stop.starting.aborted).toBe(true)
  }
  expect(counts()).toEqual(before)
})
