import { Anchor, Code, Drawer, Group, Stack, Text, Timeline } from '@mantine/core'
import type { ReactNode } from 'react'
import type { AuditEntry, EvidenceReply } from '../../../../core/wire/audit.ts'
import { ActionName } from '../../components/decision/action-name.tsx'
import { answeredBy } from '../../components/decision/answered-by.ts'
import { DecisionBadge } from '../../components/decision/decision-badge.tsx'
import { FactList } from '../../components/layout/fact-list.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { EventBadge } from '../../labels/event-labels.tsx'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { ApproverSets } from '../approvals/card/approver-sets.tsx'
import type { Names } from './use-names.ts'

type Props = { readonly id: string | null; readonly names: Names; readonly onClose: () => void }

/** Shows the evidence of one action as a timeline of audit events, approvals and requests. */
export function EvidenceDrawer({ id, names, onClose }: Props) {
  return (
    <Drawer
      opened={id !== null}
      onClose={onClose}
      position="right"
      size="lg"
      title="Evidence"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {id === null ? null : <Timelines id={id} names={names} />}
    </Drawer>
  )
}

function Timelines({ id, names }: { readonly id: string; readonly names: Names }) {
  const chain = useResource(
    'GET /api/dashboard/evidence/{action_request_id}',
    { params: { action_request_id: id } },
    { on: ['audit', 'approvals'] },
  )
  return (
    <Loaded of={chain}>
      {(reply) => {
        const type = reply.events.find((event) => event.action_type !== null)?.action_type
        const steps = stepsOf(reply, names)
        return (
          <Stack gap="lg" pb="xl">
            <div>
              <ActionName type={type ?? reply.approvals[0]?.action_type ?? null} isLarge />
              <Text size="sm" c="dimmed" className="mono">
                {reply.action_request_id}
              </Text>
            </div>
            <Timeline active={steps.length} bulletSize={14} lineWidth={2} color="indigo">
              {steps.map(({ key, at, title, body }) => (
                <Timeline.Item key={key} title={title}>
                  <Text size="sm" c="dimmed" component="div">
                    <TimeText at={at} />
                  </Text>
                  {body}
                </Timeline.Item>
              ))}
            </Timeline>
          </Stack>
        )
      }}
    </Loaded>
  )
}

type Step = { readonly key: string; readonly at: string; readonly title: ReactNode; readonly body: ReactNode }

function stepsOf({ events, approvals, requests }: EvidenceReply, names: Names): Step[] {
  const fromEvents = events.map((event) => ({
    key: event.id,
    at: event.created_at,
    title: <EventBadge type={event.event_type} />,
    body: <EventBody event={event} who={names.actorOf(event)} />,
  }))
  const fromApprovals = approvals.map((card) => ({
    key: card.id,
    at: card.created_at,
    title: (
      <Group gap="xs">
        <span>Approval card</span>
        <DecisionBadge decision={card.status} />
      </Group>
    ),
    body: (
      <FactList
        facts={[
          ['Agent', <UntrustedText key="agent" text={card.agent} />],
          ['Rule', card.matched_rule === null ? null : <UntrustedText key="rule" text={card.matched_rule} />],
          ['Approvers', card.required_groups.length === 0 ? null : <ApproverSets key="sets" card={card} />],
          ['Answered by', answeredBy(card)],
          ['Note', card.note === null ? null : <UntrustedText key="note" text={card.note} />],
        ]}
      />
    ),
  }))
  const fromRequests = requests.map((record) => ({
    key: record.id,
    at: record.time,
    title: (
      <Group gap="xs">
        <span>Request at the gateway</span>
        <DecisionBadge decision={record.decision} note={record.note} />
      </Group>
    ),
    body: (
      <>
        <Code className="note">
          <UntrustedText text={`${record.method} ${record.host ?? ''}${record.path ?? ''}`} />
        </Code>
        <Text size="sm">
          {record.status === null ? 'No response.' : `Response status ${record.status}.`}{' '}
          <Anchor underline="always" href={hrefOf('traffic', { record: record.id })}>
            Show in Traffic
          </Anchor>
        </Text>
      </>
    ),
  }))
  return [...fromEvents, ...fromApprovals, ...fromRequests].sort(
    (a, b) => Date.parse(a.at) - Date.parse(b.at),
  )
}

function EventBody({ event, who }: { readonly event: AuditEntry; readonly who: string }) {
  // The detail `actor` is omitted, because `who` already names the actor.
  const facts = Object.entries(event.details).filter(([name, value]) => name !== 'actor' && !isEmpty(value))
  return (
    <FactList
      facts={[
        ['Actor', <UntrustedText key="who" text={who} />],
        ...facts.map(([name, value]) => [labelOf(name), <Detail key={name} value={value} />] as const),
      ]}
    />
  )
}

/** Returns the name of a detail as a label, such as `Approval id`. */
function labelOf(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

function Detail({ value }: { readonly value: unknown }) {
  if (typeof value === 'string' && ISO_TIME.test(value)) return <TimeText at={value} />
  if (typeof value !== 'object') return <UntrustedText text={String(value)} canGrow />
  return (
    <span className="mono">
      <UntrustedText text={JSON.stringify(value)} canGrow />
    </span>
  )
}

function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)
}
