import type { RecordWhy } from '../../../core/record.ts'

/** Labels of decision sources, in the form of the sentence "Decided by a policy". */
export const DECISION_SOURCE_LABELS: Readonly<Record<RecordWhy['source'], string>> = {
  kill: 'the kill switch',
  agent: "the agent's status",
  permission: 'a permission',
  policy: 'a policy',
  policy_invalid: 'a policy that was never in force',
  default: 'the default',
  level: 'the enforcement level',
  connector: 'a connector without a credential',
}
