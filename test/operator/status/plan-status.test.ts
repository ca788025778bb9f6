import { describe, expect, test } from 'vitest'
import { CONDITIONS, LASTING_CONDITIONS } from '../../../core/crd/conditions.ts'
import { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import { Floors, floored } from '../../../core/crd/floors.ts'
import { GatewaySpec } from '../../../core/crd/gateway-spec.ts'
import { ConnectorStatus, GatewayStatus } from '../../../core/crd/status.ts'
import { type GatewayProcess, OperatorState, PushReply } from '../../../core/wire/operator/operator.ts'
import { resolveCredential } from '../../../operator/cluster/credentials.ts'
import type { CustomResource, ResourceStatus } from '../../../operator/cluster/custom-resources.ts'
import { countPods, governedPod } from '../../../operator/cluster/governed-pods.ts'
import { objectBody } from '../../../operator/cluster/object-body.ts'
import { mergeStates } from '../../../operator/control/acknowledgements.ts'
import {
  isInForce,
  killSwitchOfConfigMap,
  killSwitchOfGateway,
} from '../../../operator/control/kill-switches.ts'
import { planStatus } from '../../../operator/status/plan-status.ts'
import type { StatusFacts } from '../../../operator/status/status-facts.ts'

const metadata = { namespace: 'team', name: 'prod', uid: 'u', resourceVersion: '7', generation: 3 }
const gateway = (spec: object = {}, status?: object) =>
  ({
    metadata,
    spec: GatewaySpec.parse(spec),
    ...(status === undefined ? {} : { status }),
  }) as CustomResource<'Gateway'>
const connector = (spec: object) =>
  ({ metadata, spec: ConnectorSpec.parse(spec) }) as CustomResource<'Connector'>
const process = (changes: Partial<GatewayProcess> = {}): GatewayProcess => ({
  ...{
    gateway: 'team/prod',
    process_id: 'p1',
    version: null,
    covered_version: 10,
    has_kill_state: true,
    rejected: null,
  },
  conditions: [],
  warnings: [],
  ...changes,
})
const state = (processes: GatewayProcess[], kills: OperatorState['kills'] = []) =>
  OperatorState.parse({ version: 10, kills, processes })
const reply = (changes: object = {}) =>
  PushReply.parse({ accepted: true, reasons: [], version: 10, gateways: ['team/prod'], ...changes })
const facts = (changes: Partial<StatusFacts> = {}): StatusFacts => ({
  ...{
    reply: reply(),
    failure: null,
    credential: null,
    state: state([]),
    staleMs: 0,
    pods: null,
    bypassing: [],
    sharedAgents: [],
    belowFloor: [],
  },
  now: '2026-01-01T00:00:00Z',
  ...changes,
})
const said = (status: ResourceStatus) =>
  status.conditions?.map(({ type, status: is, reason }) => `${type}=${is}/${reason}`)

describe('the status of an object', () => {
  test('has all lasting conditions, each with a documented reason, and fits its own schema', () => {
    const status = planStatus('Gateway', gateway(), facts())
    expect(status.conditions?.map(({ type }) => type)).toEqual([...LASTING_CONDITIONS])
    for (const { type, reason } of status.conditions ?? [])
      expect(Object.keys(CONDITIONS[type])).toContain(reason)
    expect(GatewayStatus.parse(status)).toEqual(status)
  })

  test('is equal for equal facts, and keeps the transition time of unchanged conditions', () => {
    const first = planStatus('Gateway', gateway(), facts())
    const later = facts({ now: '2026-06-01T00:00:00Z' })
    expect(planStatus('Gateway', gateway({}, first), later)).toEqual(first)
    const changed = planStatus('Gateway', gateway({}, first), {
      ...later,
      state: state([process({ covered_version: 9 })]),
    })
    const times = Object.fromEntries(
      changed.conditions?.map((each) => [each.type, each.lastTransitionTime]) ?? [],
    )
    expect(times).toMatchObject({ Accepted: '2026-01-01T00:00:00Z', Programmed: '2026-06-01T00:00:00Z' })
  })

  test.each([
    [state([process(), process({ process_id: 'p2' })]), 'Programmed=True/Programmed', '2 of 2'],
    [
      state([process(), process({ process_id: 'p2', covered_version: 9 })]),
      'Programmed=False/Pending',
      '1 of 2',
    ],
    [state([process({ covered_version: null, rejected: 'bad' })]), 'Programmed=False/Rejected', '0 of 1'],
    [
      state([process({ gateway: 'team/other', covered_version: null })]),
      'Programmed=True/NoGateways',
      '0 of 0',
    ],
  ])('counts only the processes of its own gateways: %#', (given, wanted, text) => {
    const status = planStatus('Gateway', gateway(), facts({ state: given }))
    expect([said(status)?.includes(wanted), status.programmed]).toEqual([true, text])
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

  test('is kept while the control plane is unreachable, and stale after 30 s', () => {
    const before = planStatus('Gateway', gateway(), facts())
    const away = facts({ reply: null, failure: 'away', state: null, staleMs: 29_999 })
    expect(planStatus('Gateway', gateway({}, before), away)).toEqual(before)
    const stale = planStatus('Gateway', gateway({}, before), { ...away, staleMs: 30_000 })
    expect(said(stale)).toEqual([...(said(before) ?? []), 'Stale=True/ControlPlaneUnreachable'])
    const changed = { ...gateway({}, { ...before, observedGeneration: 2 }) }
    expect(said(planStatus('Gateway', changed, away))).toContain('Accepted=Unknown/Pending')
  })

  test('of a Gateway below a floor names the floor that is in force', () => {
    const rules = {
      floors: Floors.parse({ enforcementLevel: 'full_enforce' }),
      platformNamespaces: new Set<string>(),
    }
    const mild = gateway({ enforcementLevel: 'monitor' })
    const { below } = floored(mild.spec, 'team', rules)
    const status = planStatus('Gateway', mild, facts({ belowFloor: below }))
    expect(status.conditions?.find(({ type }) => type === 'FloorApplied')).toMatchObject({
      ...{ status: 'True', reason: 'BelowFloor' },
      message: expect.stringContaining('spec.enforcementLevel is monitor, below floors.enforcementLevel'),
    })
    expect(() => GatewayStatus.parse(status)).not.toThrow()
    expect(said(planStatus('Gateway', mild, facts()))?.join()).not.toContain('FloorApplied')
  })

  test('of a Gateway reports kill switches, bypasses, broken captures and pods', () => {
    const kills = [{ scope: 'all', source: 'configmap', reason: 'fire', since: '' }]
    const shown = planStatus(
      'Gateway',
      gateway({ interception: 'proxyEnv' }),
      facts({
        state: state(
          [process(), process({ process_id: 'p2', has_kill_state: false, conditions: ['BypassDetected'] })],
          kills,
        ),
        pods: { injected: 3, ready: 2, cooperative: 3, changingUser: 1 },
      }),
    )
    expect(said(shown)).toEqual(
      expect.arrayContaining([
        'KillSwitchActive=True/Emergency',
        'BypassPossible=True/Cooperative',
        'BypassDetected=True/CaptureBroken',
        'Degraded=True/PodsNotReady',
      ]),
    )
    expect(shown).toMatchObject({ killed: '1 of 2', pods: '3/2', layer: 'Cooperative' })
    const changing = facts({ pods: { injected: 3, ready: 3, cooperative: 0, changingUser: 2 } })
    const named = planStatus('Gateway', gateway(), changing)
    expect(said(named)).toContain('BypassPossible=True/PodsChangeUser')
    const warnings = ['Agents asked for example.com:22.']
    const asking = facts({ state: state([process({ warnings }), process({ process_id: 'p2', warnings })]) })
    expect(planStatus('Gateway', gateway(), asking).conditions).toContainEqual(
      expect.objectContaining({ type: 'Degraded', status: 'True', reason: 'Warnings', message: warnings[0] }),
    )
    const elsewhere = facts({ state: state([process({ gateway: 'team/other', warnings })]) })
    expect(said(planStatus('Gateway', gateway(), elsewhere))).not.toContain('Degraded=True/Warnings')
    const bare = planStatus('Gateway', gateway(), facts({ bypassing: ['team/odd'] }))
    expect(said(bare)).toContain('BypassDetected=True/PodWithoutSidecar')
  })

  test("of a Gateway does not show a stop that is another Gateway's own affair", () => {
    const kills = [{ scope: 'agent:x', source: 'manifest:team/other', reason: '', since: '' }]
    expect(planStatus('Gateway', gateway(), facts({ state: state([], kills) }))).not.toHaveProperty('killed')
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
    ]
    expect(killSwitchOfGateway(gateway({ killSwitch: { ...on, scopes } })).scopes).toEqual([
      'agent:x',
      'connector:codehost',
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

test('states of several replicas are merged to the most complete one', () => {
  const here = state([process({ covered_version: 10, rejected: 'why' })])
  const there = state([
    process({ covered_version: 12, has_kill_state: false }),
    process({ process_id: 'p2' }),
  ])
  expect(mergeStates([here, there])?.processes).toEqual([
    process({ covered_version: 12, rejected: 'why' }),
    process({ process_id: 'p2' }),
  ])
  expect(mergeStates([])).toBeNull()
})

test('governed pods count until they end, and are ready when their sidecar is', () => {
  const pod = (name: string, ready: boolean, phase = 'Running') =>
    governedPod({
      metadata: {
        ...metadata,
        name,
        annotations: {
          'chaperone.dev/gateway': 'prod',
          ...(name === 'a' ? { 'chaperone.dev/bypass-possible': 'spec.containers[0]: gosu' } : {}),
        },
        labels: { 'chaperone.dev/layer': 'Captured' },
      },
      status: { phase, initContainerStatuses: [{ name: 'chaperone-proxy', ready }] },
    } as never)
  const counts = countPods([pod('a', true), pod('b', false), pod('c', true, 'Succeeded')])
  expect(Object.fromEntries(counts)).toEqual({
    'team/prod': { injected: 2, ready: 1, cooperative: 0, changingUser: 1 },
  })
})
