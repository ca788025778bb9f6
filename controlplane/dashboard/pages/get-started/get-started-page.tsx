import { Button, Group, Paper, Stepper, Text } from '@mantine/core'
import { useState } from 'react'
import type { SetUpGatewayReply } from '../../../../core/wire/gateways.ts'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import { YamlNote } from '../../components/manifest/manifest-edit.tsx'
import { useSession } from '../../session/session.tsx'
import { AgentStep } from './agent-step.tsx'
import { ConnectorsStep } from './connectors-step.tsx'
import { type Draft, EMPTY_DRAFT, requestOf, stepProblem } from './draft.ts'
import { GatewayStep } from './gateway-step.tsx'
import { Ready } from './ready.tsx'
import { ReviewStep } from './review-step.tsx'

const STEPS = ['Gateway', 'Agent', 'Connectors', 'Review'] as const
const LAST_STEP = STEPS.length - 1

/** Shows the wizard for a gateway, an agent and connectors. The last step creates all of them with one request. */
export function Page() {
  const { isYaml } = useSession()
  const [step, setStep] = useState(0)
  const [draft, setDraft] = useState<Draft>(EMPTY_DRAFT)
  const [reply, setReply] = useState<SetUpGatewayReply | null>(null)
  const create = useMutation(async () => {
    setReply(await call('POST /api/dashboard/gateway', { body: requestOf(draft) }))
  })
  const problem = stepProblem(step, draft)
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }))
  return (
    <>
      <PageHead
        title="Get started"
        about="Connect an agent to a gateway. Credentials are stored when you add them; the last step creates everything else."
      />
      <YamlNote />
      {reply === null ? (
        <Paper withBorder p={{ base: 'sm', sm: 'lg' }}>
          <Stepper
            active={step}
            onStepClick={setStep}
            allowNextStepsSelect={false}
            size="sm"
            mb="lg"
            wrap={false}
            className="steps"
          >
            {STEPS.map((label) => (
              <Stepper.Step key={label} label={label} />
            ))}
          </Stepper>
          <form
            onSubmit={(event) => {
              event.preventDefault()
              if (step < LAST_STEP) setStep(step + 1)
              else create.run()
            }}
          >
            <CurrentStep step={step} draft={draft} onChange={change} />
            {create.error === null ? null : <ErrorNote error={create.error} />}
            <Text size="sm" c="dimmed" ta="right" mt="lg" mb="xs" role="status">
              {problem}
            </Text>
            <Group justify="space-between">
              <Button variant="default" onClick={() => setStep(step - 1)} disabled={step === 0}>
                Back
              </Button>
              <Button type="submit" disabled={problem !== null} loading={create.isBusy}>
                {step < LAST_STEP ? 'Continue' : isYaml ? 'Show manifest' : 'Create'}
              </Button>
            </Group>
          </form>
        </Paper>
      ) : (
        <Ready reply={reply} draft={draft} />
      )}
    </>
  )
}

function CurrentStep(props: {
  readonly step: number
  readonly draft: Draft
  readonly onChange: (part: Partial<Draft>) => void
}) {
  const { step, draft, onChange } = props
  switch (step) {
    case 0:
      return <GatewayStep gateway={draft.gateway} onChange={(gateway) => onChange({ gateway })} />
    case 1:
      return <AgentStep agent={draft.agent} onChange={(agent) => onChange({ agent })} />
    case 2:
      return (
        <ConnectorsStep connectors={draft.connectors} onChange={(connectors) => onChange({ connectors })} />
      )
    default:
      return <ReviewStep draft={draft} />
  }
}
