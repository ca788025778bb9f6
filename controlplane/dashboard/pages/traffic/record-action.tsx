import type { TrafficRecord } from '../../../../core/record.ts'
import { ActionName } from '../../components/decision/action-name.tsx'

/** The action of a record; a row that counts refusals of different actions has none of its own. */
export function RecordAction({ record }: { readonly record: TrafficRecord }) {
  return record.refusals && record.action_type === null ? (
    <span className="action-name action-none">several</span>
  ) : (
    <ActionName type={record.action_type} />
  )
}
