import { Badge, Group, SegmentedControl, Tabs } from '@mantine/core'
import { Loaded, LoadingSkeleton } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import { lazyComponent } from '../../components/lazy/lazy-component.tsx'
import { useResource } from '../../live/use-resource.ts'
import { useQueryState } from '../../routing/use-page-location.ts'
import { AnswerHistory } from './answer-history.tsx'
import { Inbox } from './inbox.tsx'
import { NotifyButton } from './notify/notify-button.tsx'
import { ShortcutHelp } from './shortcut-help.tsx'

const NEWEST = 200
const VIEWS = [
  { value: 'cards', label: 'Cards' },
  { value: 'list', label: 'List' },
]

/** The list is not part of the first bundle, because most users answer on cards. */
const ApprovalList = lazyComponent(
  async () => (await import('./list/approval-list.tsx')).ApprovalList,
  <LoadingSkeleton />,
)

/** Shows pending and completed approvals. */
export function Page() {
  const [query, change] = useQueryState()
  const tab = query['tab'] === 'answered' ? 'answered' : 'pending'
  const pending = useResource(
    'GET /api/dashboard/proxy-approvals',
    { query: { status: 'pending', limit: NEWEST } },
    { on: ['approvals'], everyMs: 15_000 },
  )
  const count = pending.data?.approvals.length ?? 0
  const isList = query['view'] === 'list'
  return (
    <>
      <PageHead
        title="Approvals"
        about="Requests that a permission or policy holds until an approver answers."
      >
        {tab === 'pending' && (count > 1 || isList) ? (
          <SegmentedControl
            aria-label="View"
            data={VIEWS}
            value={isList ? 'list' : 'cards'}
            onChange={(view) => change({ view: view === 'list' ? view : null, id: null })}
          />
        ) : null}
        <NotifyButton />
        <ShortcutHelp />
      </PageHead>
      <Tabs
        value={tab}
        onChange={(value) => change({ tab: value === 'answered' ? value : null, id: null })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="pending">
            <Group gap={8}>
              Pending
              {count === 0 ? null : <Badge className="tone tone-wait">{count}</Badge>}
            </Group>
          </Tabs.Tab>
          <Tabs.Tab value="answered">Answered</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="pending">
          <Loaded of={pending}>
            {({ approvals }) =>
              isList ? (
                <ApprovalList pending={approvals} onDone={pending.reload} />
              ) : (
                <Inbox pending={approvals} linkedId={query['id'] ?? null} onAnswered={pending.reload} />
              )
            }
          </Loaded>
        </Tabs.Panel>
        <Tabs.Panel value="answered">
          <AnswerHistory linkedId={query['id'] ?? null} />
        </Tabs.Panel>
      </Tabs>
    </>
  )
}
