import { Box, Text } from '@mantine/core'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'

/** Maximum length, in characters, of a parameter value that does not scroll. */
const SHORT = 120

/** Shows all parameters of the held action. Names and values are untrusted text from the agent. */
export function ParameterList(props: {
  readonly parameters: Readonly<Record<string, unknown>>
  readonly hasBody: boolean
}) {
  const { parameters, hasBody } = props
  const entries = Object.entries(parameters)
  if (entries.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {hasBody
          ? 'The action has no parameters, and its body has no fields. The approval covers exactly this body.'
          : 'The action has no parameters.'}
      </Text>
    )
  }
  return (
    <Box role="group" aria-label="Parameters" className="parameters">
      <dl className="facts">
        {entries.map(([name, value]) => (
          <div key={name} className="fact">
            <dt className="mono">
              <UntrustedText text={name} />
            </dt>
            <dd className="mono">
              <Value name={name} value={value} />
            </dd>
          </div>
        ))}
      </dl>
      {hasBody ? (
        <Text size="xs" c="dimmed" mt={8}>
          Parameters of the action. The value other_fields has the other fields of the body, and shortens long
          values. The approval covers exactly this body.
        </Text>
      ) : null}
    </Box>
  )
}

function Value({ name, value }: { readonly name: string; readonly value: unknown }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  const isShort = text.length <= SHORT && !text.includes('\n')
  return <UntrustedText text={text} isBlock={!isShort} label={`Parameter ${name.slice(0, 60)}`} />
}
