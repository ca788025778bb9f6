import { Drawer, Stack } from '@mantine/core'
import type { TrafficRecord } from '../../../../core/record.ts'
import { Loaded } from '../../components/layout/loading.tsx'
import { useResource } from '../../live/use-resource.ts'
import { CurrentDecision } from './current-decision.tsx'
import { RecordAction } from './record-action.tsx'
import { RecordFacts } from './record-facts.tsx'
import { RecordedDecision } from './recorded-decision.tsx'
import { RefusalFacts } from './refusal-facts.tsx'

type Props = {
  readonly id: string | null
  /** Records that the traffic list has already loaded. The drawer shows these records without a request. */
  readonly known: readonly TrafficRecord[]
  readonly onClose: () => void
}

/**
 * Shows the details of one record: the recorded decision, the facts of the request, and the decision under the current
 * rules.
 */
export function RecordDrawer({ id, known, onClose }: Props) {
  const listed = known.find((record) => record.id === id)
  return (
    <Drawer
      opened={id !== null}
      onClose={onClose}
      position="right"
      size="lg"
      title={listed === undefined ? 'Request' : <RecordAction record={listed} />}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {id === null ? null : listed === undefined ? <Fetched id={id} /> : <Detail record={listed} />}
    </Drawer>
  )
}

function Fetched({ id }: { readonly id: string }) {
  const found = useResource('GET /api/dashboard/traffic/{record_id}', { params: { record_id: id } })
  return <Loaded of={found}>{({ record }) => <Detail record={record} />}</Loaded>
}

function Detail({ record }: { readonly record: TrafficRecord }) {
  return (
    <Stack gap="lg" pb="xl">
      <RecordedDecision record={record} />
      {record.refusals ? <RefusalFacts refusals={record.refusals} /> : null}
      <RecordFacts record={record} />
      {record.refusals ? null : <CurrentDecision record={record} />}
    </Stack>
  )
}
