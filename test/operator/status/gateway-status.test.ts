import { describe, expect, test } from 'vitest'
import { Floors, floored } from '../../../core/crd/gateway/floors.ts'
import { GatewayStatus } from '../../../core/crd/status.ts'
import { createGatewayStates } from '../../../operator/control/gateway-states.ts'
import type { BypassingPod } from '../../../operator/guard/watchdog.ts'
import { planStatus } from '../../../operator/status/plan-status.ts'
import { conditionsOf, facts, gateway, messageOf, ofGateway, ofProd, process, state } from './status-world.ts'

describe('the status', () => {
  test('of a Gateway says Captured only once a sidecar has proved it, and why the traffic of a pod cannot be captured', () => {
    const statusOf = (pods: object) => planStatus('Gateway', gateway(), ofGateway({ pods }))
    expect(statusOf({ governed: 2, ready: 0 })).toMatchObject({ layer: 'Unproven' })
    expect(statusOf({ governed: 2, ready: 1 })).toMatchObject({ layer: 'Captured' })
    const failed = { name: 'a', namespace: 'team', uid: 'a', resourceVersion: '1' }
    const captureFailures = [{ metadata: failed, reason: 'set net-raw = "true"' }]
    const status = planStatus('Gateway', gateway(), ofGateway({ pods: { governed: 1, captureFailures } }))
    expect(conditionsOf(status)).toContain('Degraded=True/CaptureFailed')
    expect(status.conditions?.find(({ type }) => type === 'Degraded')?.message).toBe(
      'the traffic of governed pods cannot be captured, so their agents do not start: team/a: set net-raw = "true"',
    )
  })

  test('of a Gateway counts its own processes and pods, as integers', () => {
    const processes = [process(), process({ process_id: 'p2', covered_version: 9, has_kill_state: false })]
    const other = process({ process_id: 'p3', gateway: 'team/other' })
    const pods = { governed: 3, ready: 2 }
    const status = planStatus('Gateway', gateway(), ofGateway({ state: ofProd([...processes, other]), pods }))
    expect(status).toMatchObject({ gateways: { connected: 2, current: 1 }, pods, layer: 'Captured' })
    expect(status).not.toHaveProperty('gateways.killed')
    const kills = [{ scope: 'all', source: 'configmap', reason: 'fire', since: '' }]
    const killed = planStatus('Gateway', gateway(), ofGateway({ state: ofProd(processes, kills) }))
    expect(killed).toMatchObject({ gateways: { connected: 2, current: 1, killed: 1 } })
  })

  test('of a Gateway below a floor names the floor that is in force', () => {
    const rules = {
      floors: Floors.parse({ enforcementLevel: 'full_enforce' }),
      platformNamespaces: new Set<string>(),
    }
    const mild = gateway({ enforcementLevel: 'monitor' })
    const { below } = floored(mild.spec, 'team', rules)
    const status = planStatus('Gateway', mild, ofGateway({ belowFloor: below }))
    expect(status.conditions?.find(({ type }) => type === 'FloorApplied')).toMatchObject({
      ...{ status: 'True', reason: 'BelowFloor' },
      message: expect.stringContaining(
        'spec.enforcementLevel is monitor, which is weaker than the minimum floors.enforcementLevel',
      ),
    })
    expect(() => GatewayStatus.parse(status)).not.toThrow()
    expect(conditionsOf(planStatus('Gateway', mild, facts()))).toContain('FloorApplied=False/AboveFloors')
  })

  test('of a Gateway reports kill switches, bypasses, broken captures and pods', () => {
    const kills = [{ scope: 'all', source: 'configmap', reason: 'fire', since: '' }]
    const broken = process({ process_id: 'p2', agent: 'team/bot', conditions: ['BypassDetected'] })
    const pods = { governed: 3, ready: 2, cooperative: 3, changingUser: 1, notReady: ['team/slow'] }
    const shown = planStatus(
      'Gateway',
      gateway({ interception: 'proxyEnv' }),
      ofGateway({ state: ofProd([process(), broken], kills), pods }),
    )
    expect(conditionsOf(shown)).toEqual(
      expect.arrayContaining([
        'KillSwitchActive=True/Emergency',
        'BypassPossible=True/Cooperative',
        'BypassDetected=True/CaptureBroken',
        'Degraded=True/PodsNotReady',
      ]),
    )
    expect(shown).toMatchObject({ layer: 'Cooperative' })
    expect(messageOf(shown, 'BypassDetected')).toContain('p2 of agent team/bot')
    expect(messageOf(shown, 'Degraded')).toContain('team/slow')
    const cut = planStatus(
      'Gateway',
      gateway(),
      ofGateway({ pods, disconnected: [{ pods: ['team/slow'], cause: 'NetworkPolicy team/deny' }] }),
    )
    expect(conditionsOf(cut)).toContain('Degraded=True/SidecarNotConnected')
    expect(messageOf(cut, 'Degraded')).toContain('team/slow: NetworkPolicy team/deny')
    const named = planStatus('Gateway', gateway(), ofGateway({ pods: { changingUser: 2 } }))
    expect(conditionsOf(named)).toContain('BypassPossible=True/PodsChangeUser')
    const unknown = planStatus('Gateway', gateway(), ofGateway({ pods: { changingUser: 2, unknownUser: 1 } }))
    expect(conditionsOf(unknown)).toContain('BypassPossible=True/ImageUserUnknown')
    expect(messageOf(unknown, 'BypassPossible')).toMatch(/image user unknown.*change their user/)
    const before = { pods: { admittingInbound: new Set(['team/old', 'team/first']) } }
    const inward = planStatus('Gateway', gateway({ inbound: 'deny' }), ofGateway(before))
    expect(conditionsOf(inward)).toContain('BypassPossible=True/PodsAdmitInbound')
    expect(messageOf(inward, 'BypassPossible')).toMatch(/restart the pods: team\/first, team\/old$/)
    const outward = planStatus('Gateway', gateway(), ofGateway(before))
    expect(conditionsOf(outward)).toContain('BypassPossible=False/NoneKnown')
    const conditions = ['BypassDetected', 'BypassDetected/ProxyUser']
    const impostor = ofProd([process({ process_id: 'p3', agent: 'team/bot', conditions })])
    const shared = planStatus('Gateway', gateway(), ofGateway({ state: impostor }))
    expect(conditionsOf(shared)).toContain('BypassDetected=True/ProxyUserShared')
    expect(messageOf(shared, 'BypassDetected')).toContain('p3 of agent team/bot')
    const warnings = ['Agents asked for example.com:22.']
    const asking = ofProd([process({ warnings }), process({ process_id: 'p2', warnings })])
    expect(planStatus('Gateway', gateway(), ofGateway({ state: asking })).conditions).toContainEqual(
      expect.objectContaining({ type: 'Degraded', status: 'True', reason: 'Warnings', message: warnings[0] }),
    )
    const elsewhere = ofProd([process({ gateway: 'team/other', warnings })])
    expect(conditionsOf(planStatus('Gateway', gateway(), ofGateway({ state: elsewhere })))).toContain(
      'Degraded=False/AsExpected',
    )
  })

  test('of a Gateway says that AF_VSOCK is closed only for pods with exactly its seccomp profile', () => {
    const seccompProfiles = new Map([
      ['agent.json', 2],
      ['open.json', 1],
    ])
    const shown = (governed: number, seccompProfile?: string) =>
      planStatus(
        'Gateway',
        gateway(seccompProfile === undefined ? {} : { agents: { seccompProfile } }),
        ofGateway({ pods: { governed, seccompProfiles } }),
      )
    expect(conditionsOf(shown(3))).toContain('BypassPossible=True/VsockAdmitted')
    expect(messageOf(shown(3), 'BypassPossible')).toMatch(/set spec\.agents\.seccompProfile$/)
    const other = shown(3, 'agent.json')
    expect(conditionsOf(other)).toContain('BypassPossible=True/VsockAdmitted')
    expect(messageOf(other, 'BypassPossible')).toMatch(
      /pods do not have the seccomp profile agent\.json.*restart/,
    )
    expect(conditionsOf(shown(2, 'agent.json'))).toContain('BypassPossible=False/NoneKnown')
  })

  test('of a Gateway names the bypass of each pod, the most severe first', () => {
    const ofPods = (...kinds: readonly BypassingPod['kind'][]) =>
      planStatus(
        'Gateway',
        gateway(),
        ofGateway({ bypassing: kinds.map((kind) => ({ name: `team/${kind}`, kind })) }),
      )
    const bare = ofPods('ungoverned')
    expect(conditionsOf(bare)).toContain('BypassDetected=True/PodWithoutSidecar')
    expect(messageOf(bare, 'BypassDetected')).toBe(
      'pods that should be governed run without a sidecar, so no rule applies to their traffic: team/ungoverned; restart them',
    )
    const changed = ofPods('sidecar-changed')
    expect(conditionsOf(changed)).toContain('BypassDetected=True/PodWithoutSidecar')
    expect(messageOf(changed, 'BypassDetected')).toBe(
      'the sidecar of pods was changed, or does not start first, so their traffic may bypass it: team/sidecar-changed; restart them',
    )
    const shared = ofPods('proxy-user')
    expect(conditionsOf(shared)).toContain('BypassDetected=True/ProxyUserShared')
    expect(messageOf(shared, 'BypassDetected')).toMatch(
      /^another process .* runs as the user of the sidecar.*: team\/proxy-user; set securityContext\.runAsUser/,
    )
    const all = ofPods('proxy-user', 'ungoverned')
    expect(conditionsOf(all)).toContain('BypassDetected=True/PodWithoutSidecar')
    expect(messageOf(all, 'BypassDetected')).toMatch(
      /without a sidecar, .*: team\/ungoverned;.*: team\/proxy-user;/,
    )
  })

  test('of a Gateway names a process that saw its own user as that, not as a broken capture', () => {
    const conditions = ['BypassDetected', 'BypassDetected/ProxyUser']
    const state = ofProd([process({ process_id: 'p3', agent: 'team/bot', conditions })])
    const bypassing = [{ name: 'team/odd', kind: 'proxy-user' as const }]
    const shown = planStatus('Gateway', gateway(), ofGateway({ state, bypassing }))
    expect(messageOf(shown, 'BypassDetected')).toContain('p3 of agent team/bot, team/odd; set')
    expect(messageOf(shown, 'BypassDetected')).not.toContain('capture of sidecars is broken')
  })

  test.each<[string, string, object, readonly string[], string, string, RegExp]>([
    [
      'auto, isolated, with a captured pod of an unknown user',
      'auto',
      { isolatedIn: ['team'], unknownUser: 1 },
      [],
      'IsolatedByNetworkPolicy',
      'PodsIsolated',
      /Isolated by NetworkPolicy.*; image user unknown/,
    ],
    [
      'auto, cooperative, with every bypass of captured pods',
      'auto',
      { governed: 1, cooperative: 1, unknownUser: 1, changingUser: 1 },
      [],
      'Cooperative',
      'PodsCooperative',
      /auto chose proxyEnv.*; image user unknown.*; vsock.*; pods run programs that change their user/,
    ],
    [
      'transparent by now, isolated',
      'transparent',
      { isolatedIn: ['team'], ready: 1 },
      [],
      'IsolatedByNetworkPolicy',
      'PodsIsolated',
      /Isolated by NetworkPolicy.*; .*restart them$/,
    ],
    [
      'transparent by now, cooperative',
      'transparent',
      { cooperative: 1, ready: 1 },
      [],
      'Cooperative',
      'PodsCooperative',
      /still run; restart them$/,
    ],
    [
      'auto, without the NetworkPolicy in one of two namespaces',
      'auto',
      { isolatedIn: ['other', 'team'] },
      ['other'],
      'Cooperative',
      'PodsCooperative',
      /Namespaces: other; Isolated by NetworkPolicy/,
    ],
    [
      'proxyEnv, without the NetworkPolicy',
      'proxyEnv',
      { isolatedIn: ['team'] },
      ['team'],
      'Cooperative',
      'Cooperative',
      /^spec.interception is proxyEnv.*Namespaces: team$/,
    ],
    [
      'proxyEnv, all isolated',
      'proxyEnv',
      { isolatedIn: ['team'] },
      [],
      'IsolatedByNetworkPolicy',
      'PodsIsolated',
      /^Isolated by NetworkPolicy[^;]*; a program[^;]*$/,
    ],
  ])(
    'of a Gateway names the layer and every bypass of its pods: %s',
    (_, interception, pods, notIsolatedIn, layer, reason, message) => {
      const shown = planStatus('Gateway', gateway({ interception }), ofGateway({ pods, notIsolatedIn }))
      expect(shown).toMatchObject({ layer })
      expect(conditionsOf(shown)).toContain(`BypassPossible=True/${reason}`)
      expect(messageOf(shown, 'BypassPossible')).toMatch(message)
    },
  )

  test('of a Gateway shows no NetworkPolicies of other namespaces', () => {
    const shown = planStatus(
      'Gateway',
      gateway(),
      ofGateway({
        disconnected: [
          { pods: ['other/web', 'team/slow'], cause: '' },
          { pods: ['other/cut'], cause: 'NetworkPolicy other/deny' },
          { pods: ['teams/cut'], cause: 'NetworkPolicy teams/deny' },
          { pods: ['team/cut'], cause: 'NetworkPolicy team/deny' },
        ],
      }),
    )
    const message = messageOf(shown, 'Degraded')
    expect(message).toContain('team/cut: NetworkPolicy team/deny')
    expect(message).toContain('team/slow: no NetworkPolicy explains it')
    expect(message).toContain(
      'other/cut, other/web, teams/cut: Events SidecarNotConnected in their namespaces',
    )
    expect(message).not.toMatch(/other\/deny|teams\/deny/)
  })

  test('of a Gateway names a process that refuses the configuration at once, and one that lags after 60 s', () => {
    let now = 0
    const states = createGatewayStates(() => now)
    const put = (covered_version: number, rejected: string | null = null) =>
      states.put(state([process({ agent: 'team/bot', covered_version, rejected })]))
    const shown = () => planStatus('Gateway', gateway(), ofGateway({ state: states.of('team/prod') }))
    put(9)
    expect([conditionsOf(shown())?.includes('Degraded=False/AsExpected'), states.dueMs('team/prod')]).toEqual(
      [true, 60_001],
    )
    now = 60_001
    expect(conditionsOf(shown())).toContain('Degraded=True/GatewayLagging')
    expect(messageOf(shown(), 'Degraded')).toContain('p1 of agent team/bot')
    expect(conditionsOf(shown())).toContain('Ready=True/Ready')
    put(9, 'unknown field')
    expect(conditionsOf(shown())).toContain('Degraded=True/GatewayRejected')
    expect(messageOf(shown(), 'Degraded')).toContain('unknown field')
    put(10)
    expect([conditionsOf(shown())?.includes('Degraded=False/AsExpected'), states.dueMs('team/prod')]).toEqual(
      [true, null],
    )
  })

  test("of a Gateway does not show a kill switch that is another Gateway's own affair", () => {
    const kills = [{ scope: 'agent:x', source: 'manifest:team/other', reason: '', since: '' }]
    const status = planStatus('Gateway', gateway(), ofGateway({ state: ofProd([], kills) }))
    expect(conditionsOf(status)).toContain('KillSwitchActive=False/NotActive')
  })
})
