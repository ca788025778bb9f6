import type { TrafficRecord } from '../../../../core/record.ts'
import { ActionName } from '../../components/decision/action-name.tsx'

/** Shows the action of a record. An aggregate record of refusals can have several actions. */
export function RecordAction({ record }: { readonly record: TrafficRecord }) {
  return record.refusals && record.action_type === null ? (
    <span className="action-name action-none">several</span>
  ) : (
    <ActionName type={record.action_type} />
  )
}
