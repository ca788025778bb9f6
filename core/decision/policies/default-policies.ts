/** Policy that every new organization has. Users can change or disable it like any other policy. */
export type DefaultPolicy = {
  readonly name: string
  readonly description: string
  readonly priority: number
  readonly tags: readonly string[]
  readonly policyYaml: string
}

/** Priority below the default of policies (100), so that an organization's own policies take precedence. */
const PRIORITY = 10

/**
 * Policies of a new organization for action requests to the v1 API: destructive actions are denied, actions of low risk
 * are allowed, all other actions require approval. The policies do not apply to requests through a gateway
 * (`has(request.method)`), because the gateway's permissions deny these by default. The policies do not match actions
 * of unknown providers.
 */
export const DEFAULT_POLICIES: readonly DefaultPolicy[] = [
  {
    name: 'default-deny-destructive',
    description: 'Irreversible deletion is reserved for users',
    priority: PRIORITY + 2,
    tags: ['default'],
    policyYaml: `scope:
  actions: ["codehost.*", "llm_a.*", "llm_b.*", "llm_c.*", "payments.*", "chat.*", "mcp.*"]
rules:
  - name: destructive
    conditions:
      - '!has(request.method)'
      - 'action.type.contains("delete")'
      - 'action.risk == "high" || hints.irreversible || action.type == "codehost.branch.delete"'
    decision: deny
    reason: Destructive actions are done by users, not by agents
tests:
  - name: deleting a branch is denied
    action: { type: codehost.branch.delete, resource: { provider: codehost, target: acme/site, environment: production } }
    expect: { outcome: deny, rule: destructive }
  - name: creating an issue is not its business
    action: { type: codehost.issue.create, resource: { provider: codehost, target: acme/site } }
    expect: { outcome: no_opinion }
`,
  },
  {
    name: 'default-approve-risky',
    description: 'Medium and high risk requires approval',
    priority: PRIORITY + 1,
    tags: ['default'],
    policyYaml: `scope:
  actions: ["codehost.*", "llm_a.*", "llm_b.*", "llm_c.*", "payments.*", "chat.*", "mcp.*"]
rules:
  - name: risky
    conditions:
      - '!has(request.method)'
      - 'risk.score >= 0.5'
    decision: require_approval
    reason: Risky work needs a person's approval
tests:
  - name: merging in production needs approval
    action: { type: codehost.pr.merge, resource: { provider: codehost, target: acme/site, environment: production } }
    expect: { outcome: requires_approval, rule: risky }
`,
  },
  {
    name: 'default-allow-safe',
    description: 'Low risk passes',
    priority: PRIORITY,
    tags: ['default'],
    policyYaml: `scope:
  actions: ["codehost.*", "llm_a.*", "llm_b.*", "llm_c.*", "payments.*", "chat.*", "mcp.*"]
rules:
  - name: safe
    conditions:
      - '!has(request.method)'
      - 'action.risk == "low" && risk.score < 0.5'
    decision: allow
    reason: Low risk
`,
  },
]
