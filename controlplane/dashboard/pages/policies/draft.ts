import type { PolicyDetails, PolicyFields } from '../../../../core/wire/policies.ts'

/** State of the policy editor: the text of the policy and its other fields. */
export type PolicyDraft = PolicyFields

const TEMPLATE = `# Actions that the policy applies to. Default: all actions.
scope:
  actions: ["codehost.pr.merge"]
# The first rule whose conditions are all true decides.
rules:
  - name: production needs a release manager
    conditions:
      - 'resource.environment == "production"'
    decision: require_approval
    reason: Merging into production changes what customers use
    approver_groups: [release-managers]
# A policy version whose tests fail is not activated.
tests:
  - name: a merge into production is held
    action:
      type: codehost.pr.merge
      resource: { provider: codehost, target: acme/site, environment: production }
    expect: { outcome: requires_approval }
  - name: other environments have no opinion
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

export function draftOf(policy: PolicyDetails): PolicyDraft {
  const { name, description, policyYaml, enabled, priority, tags, mode } = policy
  return { name, description, policyYaml, enabled, priority, tags, mode }
}

/** Returns the changed fields of a policy, as the body of a PATCH request. */
export function changesOf(before: PolicyDraft, after: PolicyDraft): Partial<PolicyDraft> {
  return Object.fromEntries(
    Object.entries(after).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof PolicyDraft]),
    ),
  )
}
