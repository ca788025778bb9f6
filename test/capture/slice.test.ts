import { describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { noNamespaces } from './network.ts'
import { AGENT, AGENT_UID, HOST, SECRET, startGovernedPod, trustVariables } from './sidecar.ts'

const reason = noNamespaces()

describe.skipIf(reason !== null)(`a governed pod${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  test('curl without any proxy variable reaches the upstream with the injected credential', async () => {
    await using pod = await startGovernedPod()
    const env = trustVariables(pod.trustDir)
    const ran = await pod.network.exec(['curl', '-sS', '-m', '10', `https://${HOST}/things`], {
      uid: AGENT_UID,
      env,
    })
    expect(ran, ran.stderr + pod.log()).toMatchObject({ code: 0 })
    expect(pod.upstream.seen).toHaveLength(1)
    expect(pod.upstream.seen[0]?.header('authorization')).toBe(`Bearer ${SECRET}`)
    await eventually('record', () => pod.fake.records.length === 1 || null)
    expect(pod.fake.records[0]).toMatchObject({ agent: AGENT, action_type: 'generic.get', decision: 'ALLOW' })
    expect(pod.network.left()).toEqual({ packets: 0, destinations: [] })
  })
})
