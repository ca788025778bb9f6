import { Stack, Text } from '@mantine/core'
import { FactList } from '../../components/layout/fact-list.tsx'
import { ACCESS_RULE_LABELS } from '../../labels/connector-labels.ts'
import { CONNECTOR_LABELS } from '../../labels/connector-types.ts'
import { LEVEL_LABELS } from '../../labels/level-labels.ts'
import { type ConnectorDraft, connectorProblem, type Draft } from './draft.ts'

/** Renders step 4 of the wizard: a summary of the objects that the button "Create" creates. */
export function ReviewStep({ draft }: { readonly draft: Draft }) {
  const { gateway, agent, connectors } = draft
  const address = `${gateway.host}:${gateway.port}, ${LEVEL_LABELS[gateway.level].title.toLowerCase()}`
  return (
    <Stack gap="md">
      <FactList
        facts={[
          ['Gateway', gateway.isNew ? `${gateway.name} (new, ${address})` : gateway.name],
          [
            'Agent',
            agent.isNew ? `${agent.name} (new, with its own key)` : `${agent.name} (moves to the gateway)`,
          ],
          ...connectors.map(
            (connector) =>
              [CONNECTOR_LABELS[connector.type]?.title ?? connector.type, ruleOf(connector)] as const,
          ),
        ]}
      />
      {connectors.length === 0 ? (
        <Text size="sm" c="dimmed">
          No new connectors. The agent uses the existing connectors of the gateway.
        </Text>
      ) : null}
    </Stack>
  )
}

function ruleOf(connector: ConnectorDraft): string {
  const problem = connectorProblem(connector)
  if (problem !== null) return problem
  const hosts = connector.domains.length === 0 ? '' : `${connector.domains.join(', ')}: `
  const rule =
    ACCESS_RULE_LABELS.find(({ value }) => value === connector.accessRule)?.label ?? connector.accessRule
  if (connector.accessRule !== 'custom') return hosts + rule
  return hosts + connector.patterns.map(({ pattern, decision }) => `${pattern}: ${decision}`).join('; ')
}
