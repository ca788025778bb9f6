import { Button, Paper, Stack, Textarea } from '@mantine/core'
import { useState } from 'react'
import { Loaded } from '../../components/layout/loading.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { useResource } from '../../live/use-resource.ts'
import { useQueryState } from '../../routing/use-page-location.ts'
import { AgentInput } from './agent-input.tsx'
import { DryRunResult } from './dry-run-result.tsx'

const EXAMPLE = JSON.stringify(
  {
    type: 'codehost.branch.delete',
    resource: { provider: 'codehost', target: 'acme/site', environment: 'production' },
    parameters: { ref: 'heads/main' },
    risk_hints: { irreversible: true },
  },
  null,
  2,
)

/** Renders the form that evaluates an action spec of the v1 API. */
export function ActionSpecForm() {
  const [query, change] = useQueryState()
  const [agent, setAgent] = useState(query['agent'] ?? '')
  const [text, setText] = useState(query['spec'] ?? EXAMPLE)
  const input = { agent: query['agent'] ?? '', action_spec: query['spec'] ?? '' }
  const isComplete = input.agent !== '' && input.action_spec !== ''
  const problem = jsonProblem(text)
  const answer = useResource('GET /api/dashboard/dry-run', isComplete ? { query: input } : null, {
    on: ['config', 'kill'],
  })
  return (
    <>
      <Paper withBorder p="md">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (problem === null) change({ agent: agent.trim(), spec: text })
          }}
        >
          <Stack gap="sm">
            <AgentInput value={agent} onChange={setAgent} />
            <Textarea
              label="Action spec"
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              error={problem}
              autosize
              minRows={8}
              maxRows={20}
              spellCheck={false}
              classNames={{ input: 'mono' }}
              required
            />
            <div>
              <Button type="submit">Dry run</Button>
            </div>
          </Stack>
        </form>
      </Paper>
      {isComplete ? (
        <Panel title="Result">
          <Loaded of={answer}>{(reply) => <DryRunResult reply={reply} />}</Loaded>
        </Panel>
      ) : null}
    </>
  )
}

function jsonProblem(text: string): string | null {
  try {
    JSON.parse(text)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
