import { Button, Group } from '@mantine/core'
import { DemoScenarios } from '../../components/decision/demo-scenarios.tsx'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { hrefOf } from '../../routing/page-location.ts'
import { useSession } from '../../session/session.tsx'

/** A fresh installation: what to do first, and something to see at once. */
export function FirstSteps() {
  const { may } = useSession()
  return (
    <Panel title="First steps">
      <EmptyState
        icon="start"
        title="No agent has called anything yet"
        actions={
          may('credentials/set') ? (
            <Group justify="center">
              <Button component="a" href={hrefOf('get-started')}>
                Connect an agent
              </Button>
            </Group>
          ) : undefined
        }
      >
        Every outbound call of an agent becomes a named action here: allowed, held for a person, or denied.
        Connect an agent, or look at three examples:
      </EmptyState>
      <DemoScenarios />
    </Panel>
  )
}
