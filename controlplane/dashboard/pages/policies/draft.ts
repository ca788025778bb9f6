import type { Policy, PolicyFields } from '../../api/admin-shapes.ts'

/** What the editor holds: the record beside the text, and the text. */
export type PolicyDraft = PolicyFields

const TEMPLATE = `# Which actions it speaks about. Left out: all of them.
scope:
  actions: ["codehost.pr.merge"]
# The first rule whose conditions all hold decides.
rules:
  - name: production needs a release manager
    conditions:
      - 'resource.environment == "production"'
    decision: require_approval
    reason: Merging into production changes what customers use
    approver_groups: [release-managers]
# A text whose tests fail is not put in force.
tests:
  - name: a merge into production waits
    action:
      type: codehost.pr.merge
      resource: { provider: codehost, target: acme/site, environment: production }
    expect: { outcome: requires_approval }
  - name: elsewhere it has no opinion
    action:
      type: codehost.pr.merge
      resource: { provider: codehost, target: acme/site, environment: staging }
    expect: { outcome: no_opinion }
`

export const NEW_DRAFT: PolicyDraft = {
  name: '',
  description: '',
  policyYaml: TEMPLATE,
  enabled: true,
  priority: 100,
  tags: [],
  mode: 'enforce',
}

export function draftOf(policy: Policy): PolicyDraft {
  const { name, description, policyYaml, enabled, priority, tags, mode } = policy
  return { name, description, policyYaml, enabled, priority, tags, mode }
}

/** The fields that differ: what a PATCH says. */
export function changesOf(before: PolicyDraft, after: PolicyDraft): Partial<PolicyDraft> {
  return Object.fromEntries(
    Object.entries(after).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof PolicyDraft]),
    ),
  )
}
