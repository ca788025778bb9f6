import { Button, Checkbox, Group, NumberInput, Radio, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'
import type { GrantBody } from '../../../../../core/wire/grants.ts'
import { call } from '../../../api/client.ts'
import { useMutation } from '../../../components/form/use-mutation.ts'
import { ErrorNote } from '../../../components/layout/error-note.tsx'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'

type Props = { readonly card: ApprovalCard; readonly onAnswered: () => void }

const DURATIONS = [
  ['15m', '15 minutes'],
  ['1h', '1 hour'],
  ['today', 'Until midnight UTC'],
] as const
const MAX_USES = 100
const ALL_SAME = 'All are selected, so the query and further body fields must be the same, too.'
const SOME_FREE = 'Parameters that are not selected, the query and further body fields may have any value.'
/** Maximum length of a displayed parameter value, in characters. */
const SHOWN = 80

/**
 * Renders the form that approves a request and creates a grant. The grant covers later requests of the same agent
 * with the same action.
 */
export function GrantForm({ card, onAnswered }: Props) {
  const names = card.grant?.parameters ?? []
  const [duration, setDuration] = useState<GrantBody['duration']>('15m')
  const [uses, setUses] = useState(10)
  // An access request without a target gets a grant for any target, because a grant for the same target would cover
  // no request.
  const isForAnyTarget = card.access_request === true && card.target === null
  const [target, setTarget] = useState<'same' | 'any'>(isForAnyTarget ? 'any' : 'same')
  const [parameters, setParameters] = useState<readonly string[]>(names)
  const answer = useMutation(async () => {
    const grant = { duration, max_uses: uses, target, parameters: [...parameters] }
    await call('POST /api/dashboard/proxy-approvals', { body: { id: card.id, approved: true, grant } })
    onAnswered()
  })
  return (
    <Stack gap="md">
      <Text size="sm" component="div">
        Approves {card.access_request === true ? '' : 'this request, and '}later requests of{' '}
        <UntrustedText text={card.agent} /> with {card.action_type} that are held by the same rules
        {isForAnyTarget ? ', on any target, because the agent asked for none' : ''}. Denials, kill switches
        and other rules stay in force.
      </Text>
      <Radio.Group
        label="Valid"
        value={duration}
        onChange={(value) => setDuration(value as GrantBody['duration'])}
      >
        <Group mt={6}>
          {DURATIONS.map(([value, label]) => (
            <Radio key={value} value={value} label={label} />
          ))}
        </Group>
      </Radio.Group>
      <NumberInput
        label="Further requests"
        min={1}
        max={MAX_USES}
        clampBehavior="strict"
        allowDecimal={false}
        value={uses}
        onChange={(value) => setUses(Number(value) || 1)}
        w={160}
      />
      {card.target === null ? null : (
        <TargetChoice
          target={card.target}
          choice={target}
          onChange={setTarget}
          hasParameters={names.length > 0}
        />
      )}
      {names.length === 0 ? null : (
        <Checkbox.Group
          label="Only with the same"
          description={parameters.length === names.length ? ALL_SAME : SOME_FREE}
          value={[...parameters]}
          onChange={setParameters}
        >
          <Stack gap={6} mt={6}>
            {names.map((name) => (
              <Checkbox
                key={name}
                value={name}
                label={<UntrustedText text={`${name}: ${shown(card.parameters[name])}`} />}
              />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
      {answer.error === null ? null : <ErrorNote error={answer.error} />}
      <Group justify="flex-end">
        <Button className="answer go" onClick={() => answer.run()} loading={answer.isBusy}>
          Approve and grant
        </Button>
      </Group>
    </Stack>
  )
}

type TargetChoiceProps = {
  readonly target: string
  readonly choice: 'same' | 'any'
  readonly onChange: (choice: 'same' | 'any') => void
  readonly hasParameters: boolean
}

function TargetChoice({ target, choice, onChange, hasParameters }: TargetChoiceProps) {
  const note = hasParameters
    ? 'Also unselect the parameters below that name the target, such as repo. Otherwise the grant covers only this target.'
    : undefined
  return (
    <Radio.Group label="Target" value={choice} onChange={(value) => onChange(value as 'same' | 'any')}>
      <Stack gap={6} mt={6}>
        <Radio value="same" label={<UntrustedText text={target} />} />
        <Radio
          value="any"
          label="Any target, if the same rules hold the request for approval"
          description={note}
        />
      </Stack>
    </Radio.Group>
  )
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}
