import { Box, Text } from '@mantine/core'
import type { HeaderField } from '../../../../../core/wire/gateway/internal.ts'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'

/** Shows the header fields that the approval covers, in order. Names and values are untrusted text from the agent. */
export function HeaderList({ headers }: { readonly headers: readonly HeaderField[] }) {
  if (headers.length === 0) return null
  return (
    <Box role="group" aria-label="Headers" className="parameters">
      <dl className="facts">
        {numbered(headers).map(({ key, name, value }) => (
          <div key={key} className="fact">
            <dt className="mono">
              <UntrustedText text={name} />
            </dt>
            <dd className="mono">
              <UntrustedText text={value} canGrow />
            </dd>
          </div>
        ))}
      </dl>
      <Text size="xs" c="dimmed" mt={8}>
        Header fields of the request. The approval covers exactly these fields.
      </Text>
    </Box>
  )
}

function numbered(headers: readonly HeaderField[]) {
  return headers.map((field, at) => ({ ...field, key: `${at} ${field.name}` }))
}
