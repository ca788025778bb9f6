import type { AccessRule, RuleDecision } from '../api/shapes.ts'

/** What each kind is for, and what its credential is called there. */
export const CONNECTOR_LABELS: Readonly<
  Record<string, { readonly title: string; readonly credential: string }>
> = {
  codehost: { title: 'Code host', credential: 'Personal access token' },
  llm_a: { title: 'Models, provider A', credential: 'API key' },
  llm_b: { title: 'Models, provider B', credential: 'API key' },
  llm_c: { title: 'Models, provider C', credential: 'API key' },
  payments: { title: 'Payments', credential: 'Secret key' },
  chat: { title: 'Team chat', credential: 'Bot token' },
  generic: { title: 'Any HTTP API', credential: 'Token' },
  webhook: { title: 'Webhook receiver', credential: 'Token' },
  mcp: { title: 'MCP server', credential: 'Token' },
}

export const ACCESS_RULE_LABELS: ReadonlyArray<{
  readonly value: AccessRule
  readonly label: string
  readonly means: string
}> = [
  {
    value: 'require_approval',
    label: 'Ask a person',
    means: 'Reading passes; everything that changes something is held.',
  },
  { value: 'read_only', label: 'Read only', means: 'Reading passes, the rest is denied.' },
  { value: 'allow_all', label: 'Allow all', means: 'Everything passes; policies may still hold or deny.' },
  { value: 'custom', label: 'Custom', means: 'Your own patterns; what none of them names is denied.' },
]

export const RULE_DECISION_LABELS: ReadonlyArray<{ readonly value: RuleDecision; readonly label: string }> = [
  { value: 'allow', label: 'Allow' },
  { value: 'require_approval', label: 'Ask a person' },
  { value: 'deny', label: 'Deny' },
]
