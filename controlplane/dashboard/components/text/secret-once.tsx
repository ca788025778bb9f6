import { Alert, Text } from '@mantine/core'
import { Icon } from '../layout/icon.tsx'
import { CopyText } from './copy-text.tsx'

/** Shows a secret that the API returns only once. */
export function SecretOnce(props: {
  readonly title: string
  readonly about: string
  readonly label: string
  readonly secret: string
}) {
  const { title, about, label, secret } = props
  return (
    <Alert
      color="indigo"
      variant="outline"
      icon={<Icon name="shield" />}
      title={title}
      className="note"
      role="status"
    >
      <Text size="sm" mb="xs">
        {about}
      </Text>
      <CopyText label={label} text={secret} />
    </Alert>
  )
}
