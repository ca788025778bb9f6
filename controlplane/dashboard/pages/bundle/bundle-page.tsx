import { Button, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { PageHead } from '../../components/layout/page-head.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { useSession } from '../../session/session.tsx'
import { ImportBundle } from './import-bundle.tsx'

/** Configuration out of and into this installation. */
export function Page() {
  const { may } = useSession()
  return (
    <>
      <PageHead title="Export and import" about="Agents, policies and rules as files. Secrets never leave." />
      <Stack gap="md">
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <Panel title="As a bundle">
            <Text size="sm" c="dimmed" mb="sm">
              Agents and policies in one JSON file, for another installation or to keep. Keys and credentials
              are not in it.
            </Text>
            <Group>
              <Button
                component="a"
                variant="default"
                href="/api/dashboard/export"
                download="chaperone-export.json"
              >
                Download the bundle
              </Button>
            </Group>
          </Panel>
          <Panel title="As manifests">
            <Text size="sm" c="dimmed" mb="sm">
              Gateways, connectors, permissions and policies as YAML, ready for "chaperone apply", a
              repository or a cluster. Credentials are references that you fill in.
            </Text>
            <Group>
              <Button
                component="a"
                variant="default"
                href="/api/dashboard/export?format=manifests"
                download="chaperone-manifests.yaml"
              >
                Download the manifests
              </Button>
            </Group>
          </Panel>
        </SimpleGrid>
        {may('configuration/import') ? (
          <ImportBundle />
        ) : (
          <Text size="sm" c="dimmed">
            Only an owner may import a bundle.
          </Text>
        )}
      </Stack>
    </>
  )
}
