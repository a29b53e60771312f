#include "io/result_info.hpp"

namespace gridstride::io {

FieldInfo info_of(Field const& field, Grid const& main) {
  FieldInfo info{field.name, field.unit, field.precision, field.components};
  if (field.grid != main) info.own_grid = field.grid;
  return info;
}

TableInfo info_of(Table const& table) {
  TableInfo info{table.name, {}};
  for (Column const& column : table.columns)
    info.columns.push_back({column.name, column.unit,
                            std::holds_alternative<std::vector<std::int64_t>>(column.numbers)});
  return info;
}

}  // namespace gridstride::io
