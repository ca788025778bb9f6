import type { DecisionSource } from '../../../core/decision/decision.ts'

/** Labels of decision sources. Each label is a sentence such as "Decided by a policy". */
const DECISION_SOURCE_LABELS: Readonly<Record<DecisionSource, string>> = {
  kill: 'the kill switch',
  agent: "the agent's status",
  permission: 'a permission',
  policy: 'a policy',
  policy_invalid: 'a policy that was never in force',
  default: 'the default',
  level: 'the enforcement level',
  connector: 'a connector without a credential',
}

/** Returns the label of a recorded source; undefined for a source that only newer gateways have. */
export function decisionSourceLabel(source: string): string | undefined {
  return (DECISION_SOURCE_LABELS as Readonly<Record<string, string>>)[source]
}
