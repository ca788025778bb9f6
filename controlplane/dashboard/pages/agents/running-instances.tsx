import { Text } from '@mantine/core'
import type { AgentView } from '../../../../core/wire/agents.ts'
import { InstanceLink } from '../../components/text/instance-link.tsx'

/** Maximum number of instances whose names are shown. */
const NAMED = 5

/** Lists the names of an agent's running instances. */
export function RunningInstances({ running }: Pick<AgentView, 'running'>) {
  if (running === undefined) return <span className="dim">no pods</span>
  const named = running.instances.slice(0, NAMED)
  const others = running.pods - named.length
  return (
    <>
      {named.map((instance) => (
        <Text key={instance.pod_uid} size="sm" component="div">
          <InstanceLink of={instance} />
        </Text>
      ))}
      {others > 0 ? <Text size="sm">and {others} more</Text> : null}
    </>
  )
}
