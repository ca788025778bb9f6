import { Anchor, Group, Progress, Stack, Text } from '@mantine/core'
import type { ActivityReply } from '../../../../core/wire/overview.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { AgoText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { hrefOf } from '../../routing/page-location.ts'
import { useSession } from '../../session/session.tsx'

type Busy = ActivityReply['agents'][number]

/** Lists agents by number of requests, with the number of requests for each decision. */
export function AgentActivity({ agents }: { readonly agents: readonly Busy[] }) {
  const { command } = useSession()
  const most = Math.max(1, ...agents.map(({ allow, hold, deny }) => allow + hold + deny))
  return (
    <Panel title="Agents by activity">
      {agents.length === 0 ? (
        <EmptyState icon="agents" title="No active agents">
          Start an agent with: {command} run -- COMMAND
        </EmptyState>
      ) : (
        <Stack gap={0} component="ul" className="plain-list">
          {agents.map((busy) => (
            <Line key={busy.agent} busy={busy} most={most} />
          ))}
        </Stack>
      )}
    </Panel>
  )
}

function Line({ busy, most }: { readonly busy: Busy; readonly most: number }) {
  const { agent, allow, hold, deny, last_at } = busy
  const share = (count: number) => (count / most) * 100
  return (
    <li className="list-line">
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Anchor href={hrefOf('traffic', { agent })} className="min-0">
          <UntrustedText text={agent} />
        </Anchor>
        <Text size="xs" c="dimmed" component="span">
          <AgoText at={last_at} />
        </Text>
      </Group>
      <Progress.Root size="sm" mt={4} aria-hidden="true">
        <Progress.Section value={share(allow)} className="bar-good" />
        <Progress.Section value={share(hold)} className="bar-wait" />
        <Progress.Section value={share(deny)} className="bar-bad" />
      </Progress.Root>
      <Text size="xs" c="dimmed" mt={2}>
        {allow} allowed, {hold} held, {deny} denied
      </Text>
    </li>
  )
}
