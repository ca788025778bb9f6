import { describe, expect, test } from 'vitest'
import { COMMON_CONDITIONS, CONDITIONS, GATEWAY_CONDITIONS } from '../../../core/crd/conditions.ts'
import { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import { Floors, floored } from '../../../core/crd/floors.ts'
import { GatewaySpec } from '../../../core/crd/gateway-spec.ts'
import { ConnectorStatus, GatewayStatus } from '../../../core/crd/status.ts'
import { GatewayProcess, OperatorState, PushReply } from '../../../core/wire/operator/operator.ts'
import { resolveCredential } from '../../../operator/cluster/credentials.ts'
import type { CustomResource, ResourceStatus } from '../../../operator/cluster/custom-resources.ts'
import { objectBody } from '../../../operator/cluster/object-body.ts'
import { createGatewayStates } from '../../../operator/control/gateway-states.ts'
import {
  isInForce,
  killSwitchOfConfigMap,
  killSwitchOfGateway,
} from '../../../operator/control/kill-switches.ts'
import { planStatus } from '../../../operator/status/plan-status.ts'
import type { GatewayFacts, StatusFacts } from '../../../operator/status/status-facts.ts'

const metadata = { namespace: 'team', name: 'prod', uid: 'u', resourceVersion: '7', generation: 3 }
const gateway = (spec: object = {}, status?: object) =>
  ({
    metadata,
    spec: GatewaySpec.parse(spec),
    ...(status === undefined ? {} : { status }),
  }) as CustomResource<'Gateway'>
const connector = (spec: object) =>
  ({ metadata, spec: ConnectorSpec.parse(spec) }) as CustomResource<'Connector'>
const process = (changes: Partial<GatewayProcess> = {}) =>
  GatewayProcess.parse({
    ...{ gateway: 'team/prod', process_id: 'p1', covered_version: 10, has_kill_state: true, rejected: null },
    ...changes,
  })
const state = (processes: GatewayProcess[], kills: OperatorState['kills'] = []) =>
  OperatorState.parse({ version: 10, kills, processes })
/** The state of `team/prod`. */
const ofProd = (...given: Parameters<typeof state>) => {
  const states = createGatewayStates()
  states.put(state(...given))
  return states.of('team/prod')
}
const reply = (changes: object = {}) =>
  PushReply.parse({ accepted: true, reasons: [], version: 10, gateways: ['team/prod'], ...changes })
const PODS = {
  ...{ governed: 0, ready: 0, cooperative: 0, isolatedIn: [], changingUser: 0, unknownUser: 0, vsock: 0 },
  ...{ notReady: [], captureFailures: [], sharedAgents: [], admittingInbound: new Set<string>() },
}
const facts = (
  changes: Partial<StatusFacts> = {},
  { pods = {}, ...gatewayChanges }: Partial<Omit<GatewayFacts, 'pods'>> & { pods?: object } = {},
): StatusFacts => ({
  ...{
    reply: reply(),
    failure: null,
    credential: null,
    credentialError: null,
    isStale: false,
    undeclared: [],
  },
  gateway: {
    state: ofProd([]),
    bypassing: [],
    disconnected: [],
    notIsolatedIn: [],
    belowFloor: [],
    pods: { ...PODS, ...pods },
    ...gatewayChanges,
  },
  now: '2026-01-01T00:00:00Z',
  ...changes,
})
const ofGateway = (changes: Parameters<typeof facts>[1]) => facts({}, changes)
const messageOf = (status: ResourceStatus, wanted: string) =>
  status.conditions?.find(({ type }) => type === wanted)?.message
const said = (status: ResourceStatus) =>
  status.conditions?.map(({ type, status: is, reason }) => `${type}=${is}/${reason}`)

describe('the status of an object', () => {
  test('has all conditions of its kind, True or False, each with a documented reason, and fits its own schema', () => {
    const status = planStatus('Gateway', gateway(), facts())
    expect(status.conditions?.map(({ type }) => type)).toEqual([...COMMON_CONDITIONS, ...GATEWAY_CONDITIONS])
    for (const { type, reason, status: is } of status.conditions ?? []) {
      expect(Object.keys(CONDITIONS[type as keyof typeof CONDITIONS])).toContain(reason)
      expect(['True', 'False']).toContain(is)
    }
    expect(GatewayStatus.parse(status)).toEqual(status)
    const other = planStatus('Connector', connector({ type: 'payments' }), facts({ gateway: null }))
    expect(other.conditions?.map(({ type }) => type)).toEqual([...COMMON_CONDITIONS])
  })

  test('is equal for equal facts, and keeps the transition time of unchanged conditions', () => {
    const first = planStatus('Gateway', gateway(), facts())
    const now = '2026-06-01T00:00:00Z'
    expect(planStatus('Gateway', gateway({}, first), facts({ now }))).toEqual(first)
    const refused = reply({ accepted: false, problem: 'Invalid', reasons: ['because'] })
    const changed = planStatus('Gateway', gateway({}, first), facts({ now, reply: refused }))
    const times = Object.fromEntries(
      changed.conditions?.map((each) => [each.type, each.lastTransitionTime]) ?? [],
    )
    expect(times).toMatchObject({ ResolvedRefs: '2026-01-01T00:00:00Z', Programmed: now })
  })

  test.each([
    ['no process is connected', []],
    ['a process starts', [process({ covered_version: null })]],
    ['some are behind', [process(), process({ process_id: 'p2', covered_version: 9 })]],
    ['one refuses the configuration', [process({ covered_version: 9, rejected: 'bad' })]],
  ])('is about the object: Ready while %s', (_when, processes) => {
    const wanted = ['Programmed=True/Programmed', 'Ready=True/Ready']
    const status = planStatus('Gateway', gateway(), ofGateway({ state: ofProd(processes) }))
    expect(said(status)).toEqual(expect.arrayContaining(wanted))
    const permission = { metadata, spec: { rules: [] } } as unknown as CustomResource
    const others = planStatus('Permission', permission, facts({ gateway: null }))
    expect(said(others)).toEqual(expect.arrayContaining(wanted))
    expect(JSON.stringify([status.conditions, others])).not.toMatch(/\d+ of \d+/)
  })

  test('of a Gateway says Captured only once a sidecar has proved it, and why the traffic of a pod cannot be captured', () => {
    const statusOf = (pods: object) => planStatus('Gateway', gateway(), ofGateway({ pods }))
    expect(statusOf({ governed: 2, ready: 0 })).toMatchObject({ layer: 'Unproven' })
    expect(statusOf({ governed: 2, ready: 1 })).toMatchObject({ layer: 'Captured' })
    const failed = { name: 'a', namespace: 'team', uid: 'a', resourceVersion: '1' }
    const captureFailures = [{ metadata: failed, reason: 'set net-raw = "true"' }]
    const status = planStatus('Gateway', gateway(), ofGateway({ pods: { governed: 1, captureFailures } }))
    expect(said(status)).toContain('Degraded=True/CaptureFailed')
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

  test.each([
    ['GatewayNotFound', 'Accepted=False/RefsNotResolved', 'ResolvedRefs=False/GatewayNotFound'],
    ['NamespaceNotAllowed', 'Accepted=False/RefsNotResolved', 'ResolvedRefs=False/NamespaceNotAllowed'],
    ['Conflict', 'Accepted=False/Conflict', 'ResolvedRefs=True/ResolvedRefs'],
    ['Invalid', 'Accepted=False/Invalid', 'Ready=False/NotAccepted'],
    ['TestsFailed', 'Accepted=False/TestsFailed', 'Programmed=False/NotAccepted'],
  ])('has the reason why it is not in force: %s', (problem, ...wanted) => {
    const refused = reply({ accepted: false, problem, reasons: ['because'] })
    const status = planStatus('Gateway', gateway(), facts({ reply: refused }))
    expect(said(status)).toEqual(expect.arrayContaining(wanted))
  })

  test('is kept while the control plane is unreachable, but for Stale', () => {
    const before = planStatus('Gateway', gateway(), facts())
    const away = facts({ reply: null, failure: 'away' }, { state: null })
    expect(said(planStatus('Gateway', gateway({}, before), away))?.sort()).toEqual(said(before)?.sort())
    const stale = planStatus('Gateway', gateway({}, before), { ...away, isStale: true })
    const expected = said(before)?.map((each) =>
      each.startsWith('Stale') ? 'Stale=True/ControlPlaneUnreachable' : each,
    )
    expect(said(stale)?.sort()).toEqual(expected?.sort())
    const changed = { ...gateway({}, { ...before, observedGeneration: 2 }) }
    expect(said(planStatus('Gateway', changed, away))).toContain('Accepted=Unknown/Pending')
  })

  test('names the fields that an older custom resource definition lacks, unless there is a more severe problem', () => {
    const undeclared = ['layer', 'pods']
    const status = planStatus('Gateway', gateway(), facts({ undeclared }))
    expect(said(status)).toContain('Degraded=True/DefinitionOutdated')
    expect(messageOf(status, 'Degraded')).toContain('status.layer, status.pods')
    const warned = reply({ warnings: ['something'] })
    expect(said(planStatus('Gateway', gateway(), facts({ undeclared, reply: warned })))).toContain(
      'Degraded=True/Warnings',
    )
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
      message: expect.stringContaining('spec.enforcementLevel is monitor, below floors.enforcementLevel'),
    })
    expect(() => GatewayStatus.parse(status)).not.toThrow()
    expect(said(planStatus('Gateway', mild, facts()))).toContain('FloorApplied=False/AboveFloors')
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
    expect(said(shown)).toEqual(
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
    expect(said(cut)).toContain('Degraded=True/SidecarNotConnected')
    expect(messageOf(cut, 'Degraded')).toContain('team/slow: NetworkPolicy team/deny')
    const named = planStatus('Gateway', gateway(), ofGateway({ pods: { changingUser: 2 } }))
    expect(said(named)).toContain('BypassPossible=True/PodsChangeUser')
    const unknown = planStatus('Gateway', gateway(), ofGateway({ pods: { changingUser: 2, unknownUser: 1 } }))
    expect(said(unknown)).toContain('BypassPossible=True/ImageUserUnknown')
    expect(messageOf(unknown, 'BypassPossible')).toMatch(/image user unknown.*change their user/)
    const vsock = planStatus('Gateway', gateway(), ofGateway({ pods: { vsock: 1 } }))
    expect(said(vsock)).toContain('BypassPossible=True/VsockAdmitted')
    expect(messageOf(vsock, 'BypassPossible')).toContain('spec.agents.seccompProfile')
    const before = { pods: { admittingInbound: new Set(['team/old', 'team/first']) } }
    const inward = planStatus('Gateway', gateway({ inbound: 'deny' }), ofGateway(before))
    expect(said(inward)).toContain('BypassPossible=True/PodsAdmitInbound')
    expect(messageOf(inward, 'BypassPossible')).toMatch(/restart them: team\/first, team\/old$/)
    const outward = planStatus('Gateway', gateway(), ofGateway(before))
    expect(said(outward)).toContain('BypassPossible=False/NoneKnown')
    const conditions = ['BypassDetected', 'BypassDetected/ProxyUser']
    const impostor = ofProd([process({ process_id: 'p3', agent: 'team/bot', conditions })])
    const shared = planStatus('Gateway', gateway(), ofGateway({ state: impostor }))
    expect(said(shared)).toContain('BypassDetected=True/ProxyUserShared')
    expect(messageOf(shared, 'BypassDetected')).toContain('p3 of agent team/bot')
    const warnings = ['Agents asked for example.com:22.']
    const asking = ofProd([process({ warnings }), process({ process_id: 'p2', warnings })])
    expect(planStatus('Gateway', gateway(), ofGateway({ state: asking })).conditions).toContainEqual(
      expect.objectContaining({ type: 'Degraded', status: 'True', reason: 'Warnings', message: warnings[0] }),
    )
    const elsewhere = ofProd([process({ gateway: 'team/other', warnings })])
    expect(said(planStatus('Gateway', gateway(), ofGateway({ state: elsewhere })))).toContain(
      'Degraded=False/AsExpected',
    )
    const bare = planStatus('Gateway', gateway(), ofGateway({ bypassing: ['team/odd'] }))
    expect(said(bare)).toContain('BypassDetected=True/PodWithoutSidecar')
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
      { cooperative: 1, unknownUser: 1, vsock: 1, changingUser: 1 },
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
      expect(said(shown)).toContain(`BypassPossible=True/${reason}`)
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
    expect([said(shown())?.includes('Degraded=False/AsExpected'), states.dueMs('team/prod')]).toEqual([
      true,
      60_001,
    ])
    now = 60_001
    expect(said(shown())).toContain('Degraded=True/GatewayLagging')
    expect(messageOf(shown(), 'Degraded')).toContain('p1 of agent team/bot')
    expect(said(shown())).toContain('Ready=True/Ready')
    put(9, 'unknown field')
    expect(said(shown())).toContain('Degraded=True/GatewayRejected')
    expect(messageOf(shown(), 'Degraded')).toContain('unknown field')
    put(10)
    expect([said(shown())?.includes('Degraded=False/AsExpected'), states.dueMs('team/prod')]).toEqual([
      true,
      null,
    ])
  })

  test("of a Gateway does not show a kill switch that is another Gateway's own affair", () => {
    const kills = [{ scope: 'agent:x', source: 'manifest:team/other', reason: '', since: '' }]
    const status = planStatus('Gateway', gateway(), ofGateway({ state: ofProd([], kills) }))
    expect(said(status)).toContain('KillSwitchActive=False/NotActive')
  })

  test('of a Policy counts its tests, as integers', () => {
    const policy = { metadata, spec: {} } as unknown as CustomResource
    const tested = facts({ gateway: null, reply: reply({ tests: { passed: 2, total: 3 } }) })
    expect(planStatus('Policy', policy, tested)).toMatchObject({ tests: { passed: 2, total: 3 } })
  })

  test('of a Connector says that its credential could not be refreshed, with the error of the source', () => {
    const failing = facts({ gateway: null, credentialError: 'The token endpoint refused the exchange.' })
    const status = planStatus('Connector', connector({ type: 'payments' }), failing)
    expect(said(status)).toContain('Degraded=True/CredentialSourceFailed')
    expect(said(status)).toContain('Ready=True/Ready')
    const { message } = status.conditions?.find(({ type }) => type === 'Degraded') ?? {}
    expect(message).toBe(
      'the credential could not be refreshed, and the last one is sent until it expires: The token endpoint refused the exchange.',
    )
    const refreshed = planStatus('Connector', connector({ type: 'payments' }), facts({ gateway: null }))
    expect(said(refreshed)).toContain('Degraded=False/AsExpected')
  })

  test('of a Connector lists every governed host, those of its type included', () => {
    const status = planStatus('Connector', connector({ type: 'payments' }), facts())
    expect(ConnectorStatus.parse(status).domains).toMatch(/^api\.stripe\.com, /)
  })
})

describe('a credential', () => {
  const ref = { credential: { secretRef: { name: 's', key: 'token' } } }
  const found = (data: Record<string, string>) => ({ state: 'found', data }) as const
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  test.each([
    [
      'without the line end of the file that it came from',
      found({ token: base64('ghp\n') }),
      'ghp',
      undefined,
    ],
    ['is none when its Secret is missing', { state: 'missing' } as const, null, 'SecretNotFound'],
    ['is none when its key is missing', found({ other: base64('x') }), null, 'SecretKeyNotFound'],
    ['is none when it is empty', found({ token: base64('\n') }), null, 'SecretKeyNotFound'],
    [
      'stays as it is known when it may not be read',
      { state: 'forbidden' } as const,
      undefined,
      'SecretForbidden',
    ],
    [
      'stays as it is known when it cannot be read',
      { state: 'unreadable' } as const,
      undefined,
      'SecretUnreadable',
    ],
  ])('%s', (_name, reading, value, reason) => {
    const credential = resolveCredential(ref, 'team', reading)
    expect([credential.value, credential.problem?.reason]).toEqual([value, reason])
    const body = objectBody('Connector', connector({ type: 'codehost', ...ref }), credential)
    expect('credential' in body ? body.credential : undefined).toBe(value)
  })
})

describe('a kill switch', () => {
  test('of a Gateway applies to that Gateway, or to its scopes', () => {
    const on = { active: true, reason: ' why ' }
    expect(killSwitchOfGateway(gateway({ killSwitch: on }))).toMatchObject({
      ...{ source: 'manifest:team/prod', scopes: ['gateway:team/prod'], reason: 'why', revision: 7 },
    })
    const scopes = [
      { kind: 'Agent', name: 'x' },
      { kind: 'Connector', name: 'codehost' },
      { kind: 'Claim', name: 'team/alice' },
    ]
    expect(killSwitchOfGateway(gateway({ killSwitch: { ...on, scopes } })).scopes).toEqual([
      'agent:x',
      'connector:codehost',
      'claim:team/alice',
    ])
    expect(killSwitchOfGateway(gateway({ killSwitch: { active: false } })).scopes).toEqual([])
    expect(killSwitchOfGateway(gateway()).scopes).toEqual([])
  })

  const mapOf = (namespace: string, data?: Record<string, string>) =>
    killSwitchOfConfigMap({ metadata: { ...metadata, namespace }, ...(data && { data }) }, 'system')
  const map = (data: Record<string, string>) => mapOf('system', data)
  test.each(['true', 'TRUE', ' yes ', '1', 'on', 'ture'])(
    'by ConfigMap is on for %j: a slip of the pen is no all-clear',
    (active) => {
      expect(map({ active })?.scopes).toEqual(['all'])
    },
  )
  test.each(['false', 'No', 'off', '0', '', ' '])('by ConfigMap is off for %j', (active) => {
    expect(map({ active })?.scopes).toEqual([])
  })
  test('by ConfigMap splits scopes, and applies to everything if one of them is invalid', () => {
    expect(map({ active: 'true', scopes: 'connector:codehost, agent:team/x\ngateway:prod' })?.scopes).toEqual(
      ['connector:codehost', 'agent:team/x', 'gateway:prod'],
    )
    const slip = map({ active: 'true', scopes: 'agents:x' })
    expect([slip?.scopes, slip?.problems.length]).toEqual([['all'], 1])
  })
  test('by a ConfigMap without `active` is neither activated nor lifted', () => {
    for (const data of [undefined, {}, { reason: 'why' }, { scopes: 'all' }])
      expect(mapOf('team', data)).toBeNull()
  })
  test.each<[string, readonly string[], number]>([
    ['', ['namespace:team'], 0],
    ['ALL', ['namespace:team'], 0],
    ['agent:team/x connector:codehost bot', ['agent:team/x', 'connector:codehost', 'bot'], 0],
    ['gateway:team/prod,namespace:team', ['gateway:team/prod', 'namespace:team'], 0],
    ['agent:other/x', ['namespace:team'], 1],
    ['namespace:other, agent:x', ['namespace:team', 'agent:x'], 1],
    ['Gateway:OTHER/prod', ['namespace:team'], 1],
    ['other/bot', ['namespace:team'], 1],
    ['agents:x', ['namespace:team'], 1],
  ])('by the ConfigMap of a namespace applies to that namespace: %j', (scopes, wanted, problems) => {
    const stop = mapOf('team', { active: 'true', scopes })
    expect([stop?.source, stop?.scopes, stop?.problems.length]).toEqual(['configmap:team', wanted, problems])
  })
  test('is in force only when a replica holds exactly its scopes with its reason', () => {
    const stop = killSwitchOfGateway(gateway({ killSwitch: { active: true, reason: 'why' } }))
    const entry = { scope: 'gateway:team/prod', source: stop.source, reason: 'why', since: '' }
    expect(isInForce(stop, [entry])).toBe(true)
    expect(isInForce(stop, [])).toBe(false)
    expect(isInForce(stop, [{ ...entry, reason: 'other' }])).toBe(false)
    expect(isInForce(stop, [entry, { ...entry, scope: 'agent:x' }])).toBe(false)
    expect(isInForce({ ...stop, scopes: [] }, [])).toBe(true)
  })
})
