import { describe, expect, test } from 'vitest'
import { scoreRisk } from '../../../core/action/risk.ts'
import { findConnector } from '../../../core/connectors/registry.ts'
import { placedInputs } from '../../../core/decision/facts/environment.ts'
import { createFacts } from '../../../core/decision/facts/facts.ts'
import { lookupPermission } from '../../../core/decision/permissions/permissions.ts'
import { collectOpinions, weigh } from '../../../core/decision/policies/policy-opinion.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { buildSnapshot, buildSnapshotInSteps, type SnapshotInput } from '../../../core/snapshot/build.ts'
import {
  OWN_PERMISSIONS_SECTION,
  PERMISSION_SECTIONS,
  SECTION_NAMES,
} from '../../../core/snapshot/sections.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import fc from '../../support/fast-check.ts'
import { inputOf } from '../decision/fixtures.ts'
import { agent, connector, input, permission, policy } from './section-contents.ts'

function refusal(given: SnapshotInput, previous?: Snapshot): string {
  try {
    buildSnapshot(given, previous)
  } catch (error) {
    expect(error).toBeInstanceOf(ChaperoneError)
    expect((error as ChaperoneError).code).toBe('validation')
    return (error as Error).message
  }
  return 'accepted'
}

describe('building a snapshot', () => {
  test('builds the decision inputs from sections', () => {
    const snapshot = buildSnapshot(input(7))
    expect(snapshot.version).toBe(7)
    expect(snapshot.gateway).toMatchObject({ level: 'enforce_high_risk', defaultVerdict: 'hold' })
    expect(snapshot.agentsByName.get('bot')?.id).toBe('agent_1')
    expect(findConnector(snapshot.hosts, 'git.example.com', 443)?.entry.id).toBe('conn_1')
    expect(lookupPermission(snapshot.permissions, 'bot', 'codehost.pr.merge')?.id).toBe('perm_1')
    expect(snapshot.policies.all.map(({ ref }) => ref)).toEqual(['pol_1@3'])
    expect(Object.isFrozen(snapshot)).toBe(true)
  })

  test('reuses exactly the sections with an unchanged hash', () => {
    const first = buildSnapshot(input(1))
    const second = buildSnapshot(input(2, { agents: [{ ...agent, status: 'suspended' }] }), first)
    expect(second.version).toBe(2)
    for (const part of ['hosts', 'permissions', 'policies', 'keys', 'gateway'] as const) {
      expect(second[part]).toBe(first[part])
    }
    expect(second.agentsByName.get('bot')?.status).toBe('suspended')
    expect(first.agentsByName.get('bot')?.status).toBe('active')
  })

  test('one changed permission shard is enough to send; the others come from before', () => {
    const first = buildSnapshot(input(1))
    const deny = { ...permission, id: 'perm_2', action_pattern: 'codehost.pr.merge', decision: 'deny' }
    const changed = input(2, { 'permissions.0a': [deny] })
    const onlyChanged = { ...changed, sections: { 'permissions.0a': [deny] } }
    const second = buildSnapshot(onlyChanged, first)
    expect(lookupPermission(second.permissions, 'bot', 'codehost.pr.merge')?.id).toBe('perm_2')
    expect(lookupPermission(second.permissions, 'bot', 'codehost.issue.create')?.id).toBe('perm_1')
    expect(lookupPermission(first.permissions, 'bot', 'codehost.pr.merge')?.id).toBe('perm_1')
  })

  test("the section of a sidecar's own permissions applies beside the shared ones, until the index omits it", () => {
    const deny = { ...permission, id: 'perm_2', action_pattern: 'codehost.pr.merge', decision: 'deny' }
    const first = buildSnapshot(input(1, { [OWN_PERMISSIONS_SECTION]: [deny] }))
    expect(lookupPermission(first.permissions, 'bot', 'codehost.pr.merge')?.id).toBe('perm_2')
    const same = input(2, { [OWN_PERMISSIONS_SECTION]: [deny] })
    expect(buildSnapshot({ ...same, sections: {} }, first).permissions).toBe(first.permissions)
    const changed = input(3, { [OWN_PERMISSIONS_SECTION]: [{ ...deny, id: 'perm_3' }] })
    const third = buildSnapshot(
      { ...changed, sections: { [OWN_PERMISSIONS_SECTION]: [{ ...deny, id: 'perm_3' }] } },
      first,
    )
    expect(lookupPermission(third.permissions, 'bot', 'codehost.pr.merge')?.id).toBe('perm_3')
    const { hashes } = input(4)
    const fourth = buildSnapshot({ version: 4, sections: {}, hashes }, third)
    expect(lookupPermission(fourth.permissions, 'bot', 'codehost.pr.merge')?.id).toBe('perm_1')
    expect(refusal({ version: 5, sections: {}, hashes: changed.hashes }, fourth)).toBe(
      `section ${OWN_PERMISSIONS_SECTION}: is missing`,
    )
  })

  test('yields between shards, so that a large set blocks nothing', () => {
    const steps = buildSnapshotInSteps(input(1))
    let slices = 0
    for (let step = steps.next(); !step.done; step = steps.next()) slices++
    expect(slices).toBeGreaterThanOrEqual(PERMISSION_SECTIONS.length)
  })

  test('a revoked agent does not hide the one that took its name', () => {
    const revoked = { ...agent, id: 'agent_0', status: 'revoked' }
    for (const agents of [
      [revoked, agent],
      [agent, revoked],
    ]) {
      expect(buildSnapshot(input(1, { agents })).agentsByName.get('bot')?.id).toBe('agent_1')
    }
  })
})

describe('a policy in force that no longer compiles', () => {
  const stale = (decision: string, conditions: string[]) => ({
    ...policy,
    document: { rules: [{ name: 'r', decision, conditions }] },
  })
  const opinion = (content: unknown) => {
    const { policies } = buildSnapshot(input(1, { policies: [content] }))
    const [decided] = placedInputs(inputOf({ type: 'codehost.pr.merge' }))
    if (decided === undefined) throw new Error('an input has a reading')
    return weigh(collectOpinions(policies, decided, createFacts(decided, scoreRisk(decided.action))))
  }

  test.each([
    ['unknown fact', 'nope == 1'],
    ['unknown field', 'action.tpye == "x"'],
    ['unknown function', 'action.type.beginsWith("x")'],
    ['a name that is not canonical', 'resource.target.startsWith("Acme/")'],
    ['no CEL at all', '((('],
  ])(
    'counts as one that cannot be evaluated: it denies and holds, and never allows (%s)',
    (_name, condition) => {
      expect(opinion(stale('deny', [condition])).verdict).toBe('deny')
      expect(opinion(stale('deny', [condition])).decisive?.error).toContain('does not compile')
      expect(opinion(stale('require_approval', [condition])).verdict).toBe('hold')
      expect(opinion(stale('allow', [condition])).verdict).toBeNull()
      expect(opinion(stale('deny', ['false', condition])).verdict).toBeNull()
    },
  )
})

describe('a set of sections is refused whole', () => {
  test.each([
    ['agents', [{ ...agent, name: 7 }], 'section agents: 0.name'],
    ['agents', [agent, { ...agent, id: 'agent_2' }], 'section agents: two agents have the name "bot"'],
    ['gateway', {}, 'section gateway: id'],
    ['connectors', [{ ...connector, ports: '443' }], 'section connectors: 0.ports'],
    ['permissions.03', [{ ...permission, agent: null }], 'section permissions.03: 0.agent'],
    ['policies', [{ ...policy, document: { rules: 'none' } }], 'section policies: 0.document.rules'],
    ['keys', null, 'section keys: content'],
  ])('%s with a mistake is named with its path', (name, content, wanted) => {
    expect(refusal(input(1, { [name]: content }))).toContain(wanted)
  })

  test('any missing section refuses it: an absent shard could hide a deny', () => {
    fc.assert(
      fc.property(fc.constantFrom(...SECTION_NAMES), (name) => {
        const { [name]: _content, ...sections } = input(1).sections
        const { [name]: _hash, ...hashes } = input(1).hashes
        expect(refusal({ version: 1, sections, hashes: input(1).hashes })).toBe(`section ${name}: is missing`)
        expect(refusal({ version: 1, sections, hashes })).toBe(`section ${name}: is not in the section index`)
      }),
    )
  })

  test('an unknown section refuses it: it could hold a restriction', () => {
    expect(refusal(input(1, { quarantine: [] }))).toContain('section quarantine: is unknown')
  })

  test('a section whose hash changed must come along', () => {
    const first = buildSnapshot(input(1))
    const { hashes } = input(2, { policies: [] })
    expect(refusal({ version: 2, sections: {}, hashes }, first)).toBe('section policies: is missing')
    expect(refusal({ version: 2, sections: {}, hashes: first.sections }, first)).toBe('accepted')
  })
})

describe('section names', () => {
  test('every hex digit has one section of permissions', () => {
    expect(PERMISSION_SECTIONS).toEqual([...'0123456789abcdef'].map((digit) => `permissions.0${digit}`))
  })
})
