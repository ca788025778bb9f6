import { describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { noNamespaces } from './network.ts'
import { AGENT_UID, startGovernedPod } from './sidecar.ts'

const reason = noNamespaces()
const title = reason === null ? '' : ` (skipped: ${reason})`

/** Opens as many connections as a container may have files, and holds them for three intervals of the capture probe. */
const FLOOD = `
import resource, selectors, socket, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
count = min(20000, hard - 100)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
opened = []
for number in range(count):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(('192.0.2.%d' % (1 + number % 200), 9999))
    opened.append(one)
time.sleep(9)
print(len(opened))
`

describe.skipIf(reason !== null)(`an agent that opens thousands of connections${title}`, () => {
  test('neither crashes its sidecar nor causes a false alarm, and no packet leaves', async () => {
    await using pod = await startGovernedPod()
    const flooded = await pod.network.exec(['/usr/bin/python3', '-c', FLOOD], {
      uid: AGENT_UID,
      timeoutMs: 60_000,
    })
    expect(flooded.stderr).toBe('')
    expect(Number(flooded.stdout)).toBeGreaterThan(1_000)
    await eventually('the sidecar is ready', async () =>
      (await pod.health('/ready')).status === 200 ? true : null,
    )
    expect(pod.log()).not.toContain('traffic is not captured')
    expect(pod.log().match(/sidecar listens/g)).toHaveLength(1)
    expect(peakMib(await pod.memory())).toBeLessThan(384)
    expect(pod.network.left()).toEqual({ packets: 0, destinations: [] })
    expect(pod.upstream.seen).toHaveLength(0)
  })
})

/** Peak resident memory in the text of `/proc/PID/status`. */
function peakMib(status: string): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024
}
