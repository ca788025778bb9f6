import { Anchor } from '@mantine/core'
import type { ReactNode } from 'react'
import type { TrafficRecord } from '../../../../core/record.ts'
import { FactList } from '../../components/layout/fact-list.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { instanceLink } from '../../components/text/instance-link.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { recordActionText } from '../../labels/record-action-text.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { useSession } from '../../session/session.tsx'
import { RequestLine } from '../approvals/card/request-facts.tsx'

export function RecordFacts({ record }: { readonly record: TrafficRecord }) {
  // An aggregate record of refusals omits the fields in which the refusals differ.
  const isRow = Boolean(record.refusals)
  const none = isRow ? null : 'none'
  return (
    <Panel title="Request">
      <FactList
        facts={[
          ['Time', <TimeText key="time" at={record.time} />],
          ['Agent', <UntrustedText key="agent" text={record.agent ?? 'unknown'} />],
          ['Instance', instanceLink(record.instance)],
          ['Connector', record.connector ?? none],
          ['Candidates', record.candidates?.join(', ') ?? null],
          ['Actions', actionsFact(record)],
          ['Function tools', functionToolsText(record)],
          ['Effects', record.effects?.join(', ') ?? null],
          ['Request', isRow && record.host === null ? null : <RequestLine key="request" card={record} />],
          ['Status', record.status === null ? none : String(record.status)],
          ['Error', record.error_type],
          ['Latency', isRow ? null : latencyText(record)],
          [
            'Size',
            `${record.bytes_in.toLocaleString()} bytes sent, ${record.bytes_out.toLocaleString()} received`,
          ],
          ['Gateway', record.gateway],
          ['Credential', credentialFact(record)],
          ['Transport', record.transport],
          ['Record', <code key="id">{record.id}</code>],
          ['Audit', record.act_id === null ? null : <AuditLink key="act" id={record.act_id} />],
        ]}
      />
    </Panel>
  )
}

function functionToolsText({ function_tools: count }: TrafficRecord): string | null {
  return count == null ? null : String(count)
}

/**
 * Lists the actions of a request that has several actions. Equal actions appear once. Records of older gateways
 * contain only the names of the actions.
 */
function actionsFact({ actions, action_count: count, action_details: details }: TrafficRecord): ReactNode {
  if (actions == null) return null
  if (details == null) return `${count}: ${actions.join(', ')}`
  const texts = [...new Set(details.map(recordActionText))]
  return (
    <>
      <div>{count === details.length ? count : `${count}, the first ${details.length}:`}</div>
      {texts.map((text) => (
        <div key={text}>
          <UntrustedText text={text} />
        </div>
      ))}
    </>
  )
}

/**
 * Returns id, source, scope and expiry of the credential that the gateway added; null when the gateway added no
 * credential.
 */
function credentialFact({ credential }: TrafficRecord): ReactNode {
  if (credential === null || credential === undefined) return null
  const { id, source, scope, not_narrowed: reason, expires_at: expiresAt } = credential
  const words = [source, scope?.join(', '), reason].filter(Boolean).join('; ')
  return (
    <>
      <UntrustedText text={`${id} (${words})`} />
      {expiresAt == null ? null : (
        <>
          , expires <TimeText at={expiresAt} />
        </>
      )}
    </>
  )
}

function latencyText({ latency_ms: total, overhead_ms: gateway }: TrafficRecord): string {
  return `${total.toFixed(1)} ms, ${gateway.toFixed(1)} ms of it in the gateway`
}

/**
 * Links to the evidence of the action on the audit page. For users without the right to read the audit log, shows only
 * the id of the action.
 */
function AuditLink({ id }: { readonly id: string }) {
  const { may } = useSession()
  if (!may('auditevents/get')) return <code>{id}</code>
  return (
    <Anchor inherit href={hrefOf('audit', { action: id })}>
      Evidence for {id}
    </Anchor>
  )
}
