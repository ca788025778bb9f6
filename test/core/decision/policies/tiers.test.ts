import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decide } from '../../../../core/decision/decide.ts'
import { strictness } from '../../../../core/decision/vocabulary.ts'
import { inputOf, type PolicyText, rulesOf } from '../fixtures.ts'

const MERGE = inputOf(
  { type: 'codehost.pr.merge' },
  { agent: { name: 'team/bot' }, gateway: { name: 'platform/shared' } },
)

function policy(id: string, decision: string, more: Partial<PolicyText> = {}): PolicyText {
  return { id, yaml: `rules: [{ name: r, decision: ${decision} }]`, ...more }
}

/** A gateway that allows what no policy is against. */
function decided(policies: PolicyText[], permission = 'allow') {
  const permissions = [
    { id: 'perm', connector_type: 'codehost', action_pattern: 'codehost.*', decision: permission as 'allow' },
  ]
  return decide(rulesOf({ level: 'full_enforce', default: 'deny', permissions, policies }), MERGE)
}

const TENANT_TIERS = ['gateway', 'guest', undefined] as const
const anyPolicy = (tiers: ReadonlyArray<PolicyText['tier']>) =>
  fc.record({
    decision: fc.constantFrom('allow', 'deny', 'require_approval'),
    priority: fc.integer({ min: 0, max: 1_000_000 }),
    tier: fc.constantFrom(...tiers),
  })
const made = (
  prefix: string,
  drawn: ReadonlyArray<{ decision: string; priority: number; tier: PolicyText['tier'] }>,
) =>
  drawn.map(({ decision, priority, tier }, n) =>
    policy(`${prefix}_${n}`, decision, { priority, ...(tier && { tier }) }),
  )

describe('tiers of policies', () => {
  test('no other policy relaxes the verdict of the platform', () => {
    fc.assert(
      fc.property(
        fc.array(anyPolicy(['platform']), { maxLength: 4 }),
        fc.array(anyPolicy(TENANT_TIERS), { maxLength: 5 }),
        (platform, others) => {
          const alone = decided(made('platform', platform))
          const all = decided([...made('other', others), ...made('platform', platform)])
          return strictness(all.verdict) >= strictness(alone.verdict)
        },
      ),
      { numRuns: 500 },
    )
  })

  test('no policy of a guest relaxes the verdict of another tier', () => {
    fc.assert(
      fc.property(
        fc.array(anyPolicy(['platform', 'gateway', undefined]), { maxLength: 4 }),
        fc.array(anyPolicy(['guest']), { maxLength: 4 }),
        (others, guests) => {
          const alone = decided(made('other', others))
          const all = decided([...made('guest', guests), ...made('other', others)])
          return strictness(all.verdict) >= strictness(alone.verdict)
        },
      ),
      { numRuns: 500 },
    )
  })

  test('an allow of the platform does not allow an action', () => {
    const allow = policy('p', 'allow', { tier: 'platform', priority: 1_000_000 })
    expect(decided([allow], 'deny').verdict).toBe('deny')
    expect(decided([allow, policy('g', 'deny', { tier: 'gateway' })]).verdict).toBe('deny')
    const alone = { level: null, default: 'deny' as const, permissions: null }
    expect(decide(rulesOf({ ...alone, policies: [allow] }), MERGE).verdict).toBe('deny')
    expect(decide(rulesOf({ ...alone, policies: [{ ...allow, tier: 'gateway' }] }), MERGE).verdict).toBe(
      'allow',
    )
  })

  test('within a tier priority decides, also that of the platform', () => {
    const tier = 'platform' as const
    const low = policy('low', 'deny', { tier, priority: 1 })
    expect(decided([low]).verdict).toBe('deny')
    expect(decided([low, policy('high', 'allow', { tier, priority: 2 })]).verdict).toBe('allow')
  })

  test('a hold of two tiers requires the groups of both, and the approver reads which is the platform', () => {
    const holding = (id: string, group: string, more: Partial<PolicyText>): PolicyText => ({
      ...policy(id, 'require_approval', more),
      yaml: `rules: [{ name: r, decision: require_approval, approver_groups: [${group}] }]`,
    })
    const { requiredGroups, verdict } = decided([
      holding('tenant/own', 'team', { tier: 'gateway', priority: 1_000_000 }),
      holding('platform/merge', 'security', { tier: 'platform', priority: 1 }),
    ])
    expect(verdict).toBe('hold')
    expect(requiredGroups.map(({ policy: name, groups }) => [name, ...groups])).toEqual([
      ['platform/merge (platform)', 'security'],
      ['tenant/own', 'team'],
    ])
  })

  test.each(['deny', 'require_approval'])('a %s of the platform names its owner', (decision) => {
    const policies = [
      policy('tenant/own', decision, { tier: 'gateway', priority: 1_000_000 }),
      policy('platform/merge', decision, { tier: 'platform' }),
    ]
    const { reason, decisive } = decided(policies)
    expect(reason).toContain('Platform policy "platform/merge", rule "r"')
    expect(decisive?.policyName).toBe('platform/merge')
  })

  test("a guest's policy applies only to agents of its own namespace", () => {
    const guest = (agentsOf: string) => policy('g', 'deny', { tier: 'guest', agentsOf })
    expect(decided([guest('team')]).verdict).toBe('deny')
    for (const other of ['tea', 'team2', 'platform', ''])
      expect(decided([guest(other)]).verdict, other).toBe('allow')
  })
})
