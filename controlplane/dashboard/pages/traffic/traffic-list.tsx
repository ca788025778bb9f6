import { Anchor, Group, Paper, Stack, Table, Text } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import type { TrafficRecord } from '../../../../core/record.ts'
import { DecisionBadge } from '../../components/decision/decision-badge.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { instanceText } from '../../labels/instance-text.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { usePageLocation } from '../../routing/use-page-location.ts'
import { RecordAction } from './record-action.tsx'
import { RefusalsText } from './refusal-facts.tsx'

type Props = {
  readonly records: readonly TrafficRecord[]
  readonly onOpen: (id: string) => void
  /** True to omit the column of the agent on wide screens. */
  readonly isOfOneAgent?: boolean
}

/** Lists traffic records as a table on wide screens and as cards on narrow screens. */
export function TrafficList(props: Props) {
  const isWide = useMediaQuery('(min-width: 62em)', true, { getInitialValueInEffect: false })
  return isWide ? <Wide {...props} /> : <Narrow {...props} />
}

const HEADS = ['Time', 'Agent', 'Action', 'Decision', 'Status', 'Latency', 'Request'] as const

function Wide({ records, onOpen, isOfOneAgent = false }: Props) {
  return (
    <Paper withBorder className="scroll-x">
      <Table highlightOnHover verticalSpacing={7} layout="fixed" className="traffic">
        <Table.Thead>
          <Table.Tr>
            {HEADS.filter((head) => !isOfOneAgent || head !== 'Agent').map((head) => (
              <Table.Th key={head} className={`col-${head.toLowerCase()}`}>
                {head}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {records.map((record) => (
            <Table.Tr
              key={record.id}
              onClick={() => onOpen(record.id)}
              className="clickable"
              data-record={record.id}
            >
              <Table.Td>
                <TimeText at={record.time} />
              </Table.Td>
              {isOfOneAgent ? null : (
                <Table.Td>
                  <AgentText record={record} />
                </Table.Td>
              )}
              <Table.Td>
                <RecordLink record={record} onOpen={onOpen} />
              </Table.Td>
              <Table.Td>
                <Decision record={record} />
              </Table.Td>
              <Table.Td>{record.status ?? '–'}</Table.Td>
              <Table.Td className="number">{latency(record)}</Table.Td>
              <RequestCell record={record} />
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  )
}

function Narrow({ records, onOpen }: Props) {
  return (
    <Stack gap="xs">
      {records.map((record) => (
        <Paper key={record.id} withBorder p="sm" component="article" data-record={record.id}>
          <Group justify="space-between" gap="xs" mb={4}>
            <Decision record={record} />
            <Text size="sm" c="dimmed" component="span">
              <TimeText at={record.time} />
            </Text>
          </Group>
          <RecordLink record={record} onOpen={onOpen} />
          <Text size="sm" c="dimmed" component="div">
            <AgentText record={record} />
            {statusLine(record)}
          </Text>
          {record.refusals ? (
            <Text size="sm" component="div">
              <RefusalsText refusals={record.refusals} />
            </Text>
          ) : (
            <Text size="sm" component="div" className="mono clip">
              <UntrustedText text={requestLine(record)} />
            </Text>
          )}
        </Paper>
      ))}
    </Stack>
  )
}

/** Shows the agent and, for an agent in a pod, its instance. */
function AgentText({ record: { agent, instance } }: { readonly record: TrafficRecord }) {
  return (
    <>
      <UntrustedText text={agent ?? 'unknown'} />
      {instance ? (
        <Text size="xs" c="dimmed" component="div">
          <UntrustedText text={instanceText(instance)} />
        </Text>
      ) : null}
    </>
  )
}

function RequestCell({ record }: { readonly record: TrafficRecord }) {
  if (record.refusals) {
    return (
      <Table.Td>
        <RefusalsText refusals={record.refusals} />
      </Table.Td>
    )
  }
  return (
    <Table.Td className="mono">
      <UntrustedText text={requestLine(record)} />
    </Table.Td>
  )
}

function requestLine({ method, host, path }: TrafficRecord): string {
  return `${method} ${host ?? ''}${path ?? ''}`
}

/** Shows the decision and its note. Omits the note of an aggregate record, because the note repeats the counts. */
function Decision({ record: { decision, note, refusals } }: { readonly record: TrafficRecord }) {
  return <DecisionBadge decision={decision} note={refusals ? null : note} />
}

/**
 * Renders a row of the list as a link element, so that users can open the record in a new tab, copy the link, and reach
 * the row by keyboard.
 */
function RecordLink({
  record,
  onOpen,
}: {
  readonly record: TrafficRecord
  readonly onOpen: (id: string) => void
}) {
  const { query } = usePageLocation()
  return (
    <Anchor
      href={hrefOf('traffic', { ...query, record: record.id })}
      onClick={(event) => {
        event.stopPropagation()
        if (event.ctrlKey || event.metaKey || event.shiftKey) return
        event.preventDefault()
        onOpen(record.id)
      }}
    >
      <RecordAction record={record} />
    </Anchor>
  )
}

/** Formats the status and the latency of a record. An aggregate record has no latency. */
function statusLine(record: TrafficRecord): string {
  if (record.refusals) return record.status === null ? '' : `, ${record.status}`
  return `, ${record.status ?? 'no response'}, ${latency(record)}`
}

function latency({ latency_ms: ms, refusals }: TrafficRecord): string {
  if (refusals) return '–'
  return ms >= 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms)} ms`
}
