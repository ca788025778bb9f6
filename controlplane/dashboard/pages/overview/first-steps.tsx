import { Button, Group } from '@mantine/core'
import { DemoScenarios } from '../../components/decision/demo-scenarios.tsx'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { hrefOf } from '../../routing/page-location.ts'
import { useSession } from '../../session/session.tsx'

/** Shows how to connect an agent, and example actions. The overview hides this section after the first request. */
export function FirstSteps() {
  const { may } = useSession()
  return (
    <Panel title="First steps">
      <EmptyState
        icon="start"
        title="No requests yet"
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
        Each outbound request of an agent is classified as an action and is allowed, held for approval, or
        denied. Connect an agent, or try three examples:
      </EmptyState>
      <DemoScenarios />
    </Panel>
  )
}
