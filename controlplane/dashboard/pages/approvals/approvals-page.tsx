import { Badge, Group, Tabs } from '@mantine/core'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import { useResource } from '../../live/use-resource.ts'
import { useQueryState } from '../../routing/use-page-location.ts'
import { AnswerHistory } from './answer-history.tsx'
import { Inbox } from './inbox.tsx'
import { NotifyButton } from './notify-button.tsx'
import { ShortcutHelp } from './shortcut-help.tsx'

const NEWEST = 200

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
  return (
    <>
      <PageHead
        title="Approvals"
        about="Requests that a permission or policy holds until an approver answers."
      >
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
            {({ approvals }) => (
              <Inbox pending={approvals} linkedId={query['id'] ?? null} onAnswered={pending.reload} />
            )}
          </Loaded>
        </Tabs.Panel>
        <Tabs.Panel value="answered">
          <AnswerHistory linkedId={query['id'] ?? null} />
        </Tabs.Panel>
      </Tabs>
    </>
  )
}
