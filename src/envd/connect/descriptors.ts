/** The schema as descriptors of protocol buffers. Loaded only with the binary codec. */
import { create, createFileRegistry, type FileRegistry, type MessageInitShape } from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  file_google_protobuf_timestamp as timestamp,
  FileDescriptorSetSchema,
  type DescriptorProtoSchema,
  type FieldDescriptorProtoSchema,
  type FileDescriptorProtoSchema,
  type ServiceDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import {
  enums,
  isScalar,
  jsonName,
  mapType,
  messages,
  requestOf,
  responseOf,
  services,
  timestampType,
  type Field,
  type Fields,
  type Scalar,
} from "#envd-protocol/schema.ts";

const scalarTypes: Readonly<Record<Scalar, Type>> = {
  string: Type.STRING,
  bool: Type.BOOL,
  bytes: Type.BYTES,
  uint32: Type.UINT32,
  sint32: Type.SINT32,
  int64: Type.INT64,
};

let known: FileRegistry | undefined;

export function schemaRegistry(): FileRegistry {
  known ??= createFileRegistry(
    create(FileDescriptorSetSchema, { file: [timestamp.proto, describeFile("process"), describeFile("filesystem")] }),
  );
  return known;
}

function describeFile(name: string): MessageInitShape<typeof FileDescriptorProtoSchema> {
  return {
    name: `${name}.proto`,
    package: name,
    syntax: "proto3",
    dependency: name === "filesystem" ? [timestamp.proto.name] : [],
    messageType: messagesIn(name),
    enumType: namesIn(enums, name).map((type) => ({
      name: lastOf(type),
      value: Object.entries(enums[type] ?? {}).map(([value, number]) => ({ name: value, number })),
    })),
    service: namesIn(services, name).map(describeService),
  };
}

function messagesIn(parent: string): MessageInitShape<typeof DescriptorProtoSchema>[] {
  return namesIn(messages, parent).map((type) => {
    const fields = messages[type] ?? {};
    const oneofs = [...new Set(Object.values(fields).flatMap(({ oneof }) => oneof ?? []))];
    // In protocol buffers, an optional field is a oneof of its own.
    const optional = Object.entries(fields).flatMap(([name, field]) => (field.optional === true ? [`_${name}`] : []));
    const choices = [...oneofs, ...optional];
    return {
      name: lastOf(type),
      field: Object.entries(fields).map(([name, field]) => describeField(type, name, field, choices)),
      oneofDecl: choices.map((name) => ({ name })),
      nestedType: [...mapEntries(fields), ...messagesIn(type)],
    };
  });
}

function describeField(
  message: string,
  name: string,
  field: Field,
  choices: readonly string[],
): MessageInitShape<typeof FieldDescriptorProtoSchema> {
  const isMap = field.type === mapType;
  const choice = field.oneof ?? (field.optional === true ? `_${name}` : undefined);
  return {
    name,
    number: field.number,
    jsonName: jsonName(name),
    label: isMap || field.repeated === true ? Label.REPEATED : Label.OPTIONAL,
    ...(isMap ? { type: Type.MESSAGE, typeName: `.${message}.${entryName(name)}` } : describeType(field.type)),
    ...(choice === undefined ? {} : { oneofIndex: choices.indexOf(choice) }),
    ...(field.optional === true ? { proto3Optional: true } : {}),
  };
}

function describeType(type: string): { type: Type; typeName?: string } {
  if (isScalar(type)) return { type: scalarTypes[type] };
  return { type: type === timestampType || type in messages ? Type.MESSAGE : Type.ENUM, typeName: `.${type}` };
}

function mapEntries(fields: Fields): MessageInitShape<typeof DescriptorProtoSchema>[] {
  return Object.entries(fields)
    .filter(([, { type }]) => type === mapType)
    .map(([name]) => ({
      name: entryName(name),
      options: { mapEntry: true },
      field: ["key", "value"].map((own, index) => ({
        name: own,
        number: index + 1,
        label: Label.OPTIONAL,
        type: Type.STRING,
        jsonName: own,
      })),
    }));
}

function describeService(service: string): MessageInitShape<typeof ServiceDescriptorProtoSchema> {
  return {
    name: lastOf(service),
    method: Object.entries(services[service] ?? {}).map(([name, kind]) => ({
      name,
      inputType: `.${requestOf(service, name)}`,
      outputType: `.${responseOf(service, name)}`,
      serverStreaming: kind === "server-stream",
      clientStreaming: kind === "client-stream",
    })),
  };
}

function namesIn(things: Readonly<Record<string, unknown>>, parent: string): string[] {
  return Object.keys(things).filter((name) => name.slice(0, name.lastIndexOf(".")) === parent);
}

function lastOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** "envs" is "EnvsEntry". */
function entryName(field: string): string {
  const name = jsonName(field);
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}Entry`;
}
