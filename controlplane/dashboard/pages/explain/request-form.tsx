import { Alert, Anchor, Button, Group, Paper, Select, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { ExplainResult } from '../../components/decision/explain-result.tsx'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { useQueryState } from '../../routing/use-page-location.ts'
import { AgentInput } from './agent-input.tsx'

const DEFAULT_METHOD = 'GET'
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']

/**
 * Renders the form that explains the decision on a request. The user enters a method and a URL. The URL of the page
 * contains the input.
 */
export function RequestForm() {
  const [query, change] = useQueryState()
  const [method, setMethod] = useState(query['method'] ?? DEFAULT_METHOD)
  const [url, setUrl] = useState(query['url'] ?? '')
  const [agent, setAgent] = useState(query['agent'] ?? '')
  // Updates the form, because a link to another request changes the query while the form stays mounted.
  useEffect(() => {
    setMethod(query['method'] ?? DEFAULT_METHOD)
    setUrl(query['url'] ?? '')
    setAgent(query['agent'] ?? '')
  }, [query])
  const input = { method: query['method'] ?? '', url: query['url'] ?? '', agent: query['agent'] ?? '' }
  const isComplete = Object.values(input).every((text) => text !== '')
  const answer = useResource('GET /api/dashboard/explain', isComplete ? { query: input } : null, {
    on: ['config', 'kill'],
  })
  return (
    <>
      <Paper withBorder p="md">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            change({ method, url: url.trim(), agent: agent.trim() })
          }}
        >
          <Group align="flex-end" gap="sm">
            <Select
              label="Method"
              data={METHODS}
              value={method}
              onChange={(value) => setMethod(value ?? DEFAULT_METHOD)}
              w={120}
              allowDeselect={false}
            />
            <TextInput
              className="grow-long"
              label="URL"
              placeholder="https://api.github.com/repos/acme/site"
              value={url}
              onChange={(event) => setUrl(event.currentTarget.value)}
              required
            />
            <AgentInput value={agent} onChange={setAgent} />
            <Button type="submit">Explain</Button>
          </Group>
        </form>
      </Paper>
      {isComplete ? (
        <Panel title="Result">
          <Loaded of={answer}>
            {(reply) => (
              <>
                {reply.agent_known ? null : <UnknownAgent agent={input.agent} />}
                <ExplainResult reply={reply} />
              </>
            )}
          </Loaded>
        </Panel>
      ) : (
        <EmptyState icon="explain" title="Test a request">
          The result names the connector, the action, all rules that were evaluated, and the rule that
          decided. The gateway decides the same way, and "chaperone explain" prints the same text.
        </EmptyState>
      )}
    </>
  )
}

function UnknownAgent({ agent }: { readonly agent: string }) {
  return (
    <Alert
      color="orange"
      variant="outline"
      icon={<Icon name="warning" />}
      title="Unknown agent"
      className="note"
      mb="sm"
    >
      The gateway serves no agent with the name <UntrustedText text={agent} />. The result considers only
      rules that apply to every agent.{' '}
      <Anchor inherit underline="always" href={hrefOf('agents')}>
        All agents
      </Anchor>
    </Alert>
  )
}
