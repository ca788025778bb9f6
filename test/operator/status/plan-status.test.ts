import { describe, expect, test } from 'vitest'
import { CONDITIONS } from '../../../core/crd/conditions.ts'
import { ConnectorStatus, GatewayStatus } from '../../../core/crd/status.ts'
import type { CustomResource } from '../../../operator/cluster/custom-resources.ts'
import { planStatus } from '../../../operator/status/plan-status.ts'
import {
  conditionsOf,
  connector,
  facts,
  gateway,
  messageOf,
  metadata,
  ofGateway,
  ofProd,
  process,
  reply,
} from './status-world.ts'

const COMMON_CONDITIONS = ['Accepted', 'ResolvedRefs', 'Programmed', 'Ready', 'Degraded', 'Stale']
const GATEWAY_CONDITIONS = ['KillSwitchActive', 'BypassPossible', 'BypassDetected', 'FloorApplied']

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
    expect(conditionsOf(status)).toEqual(expect.arrayContaining(wanted))
    const permission = { metadata, spec: { rules: [] } } as unknown as CustomResource
    const others = planStatus('Permission', permission, facts({ gateway: null }))
    expect(conditionsOf(others)).toEqual(expect.arrayContaining(wanted))
    expect(JSON.stringify([status.conditions, others])).not.toMatch(/\d+ of \d+/)
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
    expect(conditionsOf(status)).toEqual(expect.arrayContaining(wanted))
  })

  test('is kept while the control plane is unreachable, but for Stale', () => {
    const before = planStatus('Gateway', gateway(), facts())
    const away = facts({ reply: null, failure: 'away' }, { state: null })
    expect(conditionsOf(planStatus('Gateway', gateway({}, before), away))?.sort()).toEqual(
      conditionsOf(before)?.sort(),
    )
    const stale = planStatus('Gateway', gateway({}, before), { ...away, isStale: true })
    const expected = conditionsOf(before)?.map((each) =>
      each.startsWith('Stale') ? 'Stale=True/ControlPlaneUnreachable' : each,
    )
    expect(conditionsOf(stale)?.sort()).toEqual(expected?.sort())
    const changed = { ...gateway({}, { ...before, observedGeneration: 2 }) }
    expect(conditionsOf(planStatus('Gateway', changed, away))).toContain('Accepted=Unknown/Pending')
  })

  test('names the fields that an older custom resource definition lacks, unless there is a more severe problem', () => {
    const undeclared = ['layer', 'pods']
    const status = planStatus('Gateway', gateway(), facts({ undeclared }))
    expect(conditionsOf(status)).toContain('Degraded=True/DefinitionOutdated')
    expect(messageOf(status, 'Degraded')).toContain('status.layer, status.pods')
    const warned = reply({ warnings: ['something'] })
    expect(conditionsOf(planStatus('Gateway', gateway(), facts({ undeclared, reply: warned })))).toContain(
      'Degraded=True/Warnings',
    )
  })

  test('of a Policy counts its tests, as integers', () => {
    const policy = { metadata, spec: {} } as unknown as CustomResource
    const tested = facts({ gateway: null, reply: reply({ tests: { passed: 2, total: 3 } }) })
    expect(planStatus('Policy', policy, tested)).toMatchObject({ tests: { passed: 2, total: 3 } })
  })

  test('of a Connector says that its credential could not be refreshed, with the error of the source', () => {
    const failing = facts({ gateway: null, credentialError: 'The token endpoint refused to issue a token.' })
    const status = planStatus('Connector', connector({ type: 'payments' }), failing)
    expect(conditionsOf(status)).toContain('Degraded=True/CredentialSourceFailed')
    expect(conditionsOf(status)).toContain('Ready=True/Ready')
    const { message } = status.conditions?.find(({ type }) => type === 'Degraded') ?? {}
    expect(message).toBe(
      'the credential could not be refreshed, and the last one is sent until it expires: The token endpoint refused to issue a token.',
    )
    const refreshed = planStatus('Connector', connector({ type: 'payments' }), facts({ gateway: null }))
    expect(conditionsOf(refreshed)).toContain('Degraded=False/AsExpected')
  })

  test('of a Connector lists every governed host, those of its type included', () => {
    const status = planStatus('Connector', connector({ type: 'payments' }), facts())
    expect(ConnectorStatus.parse(status).domains).toMatch(/^api\.stripe\.com, /)
  })
})
