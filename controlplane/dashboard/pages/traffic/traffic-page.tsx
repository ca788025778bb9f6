import { Button, Stack } from '@mantine/core'
import { useMemo } from 'react'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import { useResource } from '../../live/use-resource.ts'
import { useQueryState } from '../../routing/use-page-location.ts'
import { useSession } from '../../session/session.tsx'
import { FilterBar } from './filter-bar.tsx'
import { FILTER_NAMES, filtersOf, trafficQuery } from './filters.ts'
import { RecordDrawer } from './record-drawer.tsx'
import { TrafficList } from './traffic-list.tsx'
import { useOlder } from './use-older.ts'

const PAGE_SIZE = 100

/** Shows the live list of governed requests, with filters. */
export function Page() {
  const [query, change] = useQueryState()
  const isLive = query['live'] !== 'off'
  const filters = useMemo(() => filtersOf(query), [query])
  const isFiltered = Object.keys(filters).length > 0
  const newest = useResource(
    'GET /api/dashboard/traffic',
    { query: trafficQuery(filters, PAGE_SIZE) },
    isLive ? { on: ['traffic'], everyMs: 10_000 } : {},
  )
  const older = useOlder(filters, newest.data, PAGE_SIZE)
  return (
    <>
      <PageHead
        title="Traffic"
        about="All requests of agents with their decisions. Old records are deleted, by default after seven days."
      >
        <Button
          variant="default"
          leftSection={<Icon name={isLive ? 'pause' : 'play'} size={16} />}
          onClick={() => change({ live: isLive ? 'off' : null })}
          aria-pressed={!isLive}
        >
          {isLive ? 'Pause' : 'Resume'}
        </Button>
      </PageHead>
      <Stack gap="md">
        <FilterBar
          filters={filters}
          onChange={change}
          onClear={() => change(Object.fromEntries(FILTER_NAMES.map((name) => [name, null])))}
        />
        <Loaded of={newest}>
          {() =>
            older.records.length === 0 ? (
              <NoRecords isFiltered={isFiltered} hasMore={older.hasMore} />
            ) : (
              <TrafficList records={older.records} onOpen={(id) => change({ record: id })} />
            )
          }
        </Loaded>
        {older.error === null ? null : <ErrorNote error={older.error} />}
        {older.hasMore ? (
          <Button variant="default" onClick={older.more} loading={older.isBusy}>
            Show older records
          </Button>
        ) : null}
      </Stack>
      <RecordDrawer
        id={query['record'] ?? null}
        known={older.records}
        onClose={() => change({ record: null })}
      />
    </>
  )
}

function NoRecords({ isFiltered, hasMore }: { readonly isFiltered: boolean; readonly hasMore: boolean }) {
  const { command } = useSession()
  if (hasMore) {
    return (
      <EmptyState icon="search" title="No match in the newest records">
        A search reads a part of the traffic log at a time. "Show older records" continues it.
      </EmptyState>
    )
  }
  if (isFiltered) {
    return (
      <EmptyState icon="search" title="No matching requests">
        No stored request matches all filters. Remove a filter, or search the audit log for older decisions.
      </EmptyState>
    )
  }
  return (
    <EmptyState icon="traffic" title="No requests yet">
      Start an agent with "{command} <span className="whole">run -- COMMAND</span>". Its first request appears
      here.
    </EmptyState>
  )
}
