import { Anchor, Button, Stack } from '@mantine/core'
import { useMemo } from 'react'
import type { AuditEntry } from '../../../../core/wire/audit.ts'
import { addressOf } from '../../api/client.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import { RowTable } from '../../components/layout/row-table.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { EventBadge } from '../../labels/event-labels.tsx'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { useQueryState } from '../../routing/use-page-location.ts'
import { AuditFilters } from './audit-filters.tsx'
import { auditQuery, FILTER_NAMES } from './audit-query.ts'
import { eventFacts } from './event-facts.ts'
import { EvidenceDrawer } from './evidence-drawer.tsx'
import { useNames } from './use-names.ts'
import { useOlder } from './use-older.ts'

const PAGE_SIZE = 50

/** Shows the audit log with filters, CSV export, and the evidence of each action. */
export function Page() {
  const [query, change] = useQueryState()
  const filter = useMemo(() => auditQuery(query), [query])
  const names = useNames()
  const newest = useResource(
    'GET /api/dashboard/audit',
    { query: { ...filter, limit: PAGE_SIZE } },
    { on: ['audit'] },
  )
  const older = useOlder(filter, newest.data, PAGE_SIZE)
  const isFiltered = FILTER_NAMES.some((name) => query[name])
  return (
    <>
      <PageHead title="Audit" about="Decisions, approvals and changes. Events are added, but never changed.">
        <Button
          component="a"
          variant="default"
          href={addressOf('/api/dashboard/audit-export', { query: filter })}
          download="audit-events.csv"
        >
          {isFiltered ? 'Export filtered events as CSV' : 'Export as CSV'}
        </Button>
      </PageHead>
      <Stack gap="md">
        <AuditFilters
          query={query}
          agents={names.agents}
          onChange={change}
          onClear={() => change(Object.fromEntries(FILTER_NAMES.map((name) => [name, null])))}
        />
        <Loaded of={newest}>
          {() =>
            older.events.length === 0 ? (
              <NoEvents isFiltered={isFiltered} hasMore={older.hasMore} />
            ) : (
              <RowTable
                rows={older.events}
                keyOf={({ id }) => id}
                columns={[
                  {
                    head: 'Event',
                    isWhole: true,
                    cell: ({ event_type }) => <EventBadge type={event_type} />,
                  },
                  { head: 'Time', isWhole: true, cell: ({ created_at }) => <TimeText at={created_at} /> },
                  {
                    head: 'Actor',
                    cell: (event) => <UntrustedText text={names.actorOf(event)} />,
                  },
                  { head: 'Details', width: '42%', cell: (event) => <Details event={event} /> },
                  {
                    head: 'Evidence',
                    isWhole: true,
                    cell: ({ action_request_id: id }) =>
                      id === null ? null : <EvidenceLink id={id} query={query} />,
                  },
                ]}
              />
            )
          }
        </Loaded>
        {older.error === null ? null : <ErrorNote error={older.error} />}
        {older.hasMore ? (
          <Button variant="default" onClick={older.more} loading={older.isBusy}>
            Show older events
          </Button>
        ) : null}
      </Stack>
      <EvidenceDrawer id={query['action'] ?? null} names={names} onClose={() => change({ action: null })} />
    </>
  )
}

function NoEvents({ isFiltered, hasMore }: { readonly isFiltered: boolean; readonly hasMore: boolean }) {
  if (hasMore) {
    return (
      <EmptyState icon="search" title="No match in the newest events">
        A search reads a part of the audit log at a time. "Show older events" continues it.
      </EmptyState>
    )
  }
  return (
    <EmptyState icon="audit" title={isFiltered ? 'No matching events' : 'No events'}>
      {isFiltered
        ? 'No event matches all filters. Remove a filter. Requests that were allowed without approval are on the page Traffic.'
        : 'Denied, held and approved actions, answers, sign-ins and configuration changes appear here.'}
    </EmptyState>
  )
}

function Details({ event }: { readonly event: AuditEntry }) {
  const text = [event.action_type, eventFacts(event)].filter(Boolean).join(': ')
  return text === '' ? <span className="dim">–</span> : <UntrustedText text={text} />
}

function EvidenceLink(props: { readonly id: string; readonly query: Readonly<Record<string, string>> }) {
  const { id, query } = props
  return (
    <Anchor inherit href={hrefOf('audit', { ...query, action: id })}>
      Show evidence
    </Anchor>
  )
}
