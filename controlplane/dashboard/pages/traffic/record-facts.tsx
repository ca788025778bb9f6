import { Anchor } from '@mantine/core'
import type { TrafficRecord } from '../../../../core/record.ts'
import { FactList } from '../../components/layout/fact-list.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { hrefOf } from '../../routing/page-location.ts'
import { useSession } from '../../session/session.tsx'
import { RequestLine } from '../approvals/card/request-facts.tsx'

export function RecordFacts({ record }: { readonly record: TrafficRecord }) {
  // Of a row that counts refusals, fields in which they differ are left out.
  const isRow = Boolean(record.refusals)
  const none = isRow ? null : 'none'
  return (
    <Panel title="Request">
      <FactList
        facts={[
          ['Time', <TimeText key="time" at={record.time} />],
          ['Agent', <UntrustedText key="agent" text={record.agent ?? 'unknown'} />],
          ['Connector', record.connector ?? none],
          ['Candidates', record.candidates?.join(', ') ?? null],
          ['Actions', actionsText(record)],
          ['Request', isRow && record.host === null ? null : <RequestLine key="request" card={record} />],
          ['Answer', record.status === null ? none : String(record.status)],
          ['Error', record.error_type],
          ['Latency', isRow ? null : latencyText(record)],
          [
            'Size',
            `${record.bytes_in.toLocaleString()} bytes out, ${record.bytes_out.toLocaleString()} back`,
          ],
          ['Gateway', record.gateway],
          ['Transport', record.transport],
          ['Record', <code key="id">{record.id}</code>],
          ['Audit', record.act_id === null ? null : <AuditLink key="act" id={record.act_id} />],
        ]}
      />
    </Panel>
  )
}

function actionsText({ actions, action_count: count }: TrafficRecord): string | null {
  return actions === null || actions === undefined ? null : `${count}: ${actions.join(', ')}`
}

function latencyText({ latency_ms: all, overhead_ms: ours }: TrafficRecord): string {
  return `${all.toFixed(1)} ms, ${ours.toFixed(1)} ms of it ours`
}

/** The log is for admins; others can still name the story to one. */
function AuditLink({ id }: { readonly id: string }) {
  const { may } = useSession()
  if (!may('auditevents/get')) return <code>{id}</code>
  return <Anchor href={hrefOf('audit', { action: id })}>Whole story of {id}</Anchor>
}
